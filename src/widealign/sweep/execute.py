"""Carrying a plan out: so many jobs at a time, each in a process of its own; what fails is kept, the rest goes on."""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

from widealign.config import RunConfig
from widealign.experiments import Job
from widealign.sweep.launch import Launcher, Outcome, Worker
from widealign.sweep.plan import Plan
from widealign.sweep.record import DamagedRun, read_record
from widealign.sweep.store import Store

_PATIENCE = 2.0
_ENOUGH = 3


class Executor(Protocol):
    """Something that does jobs, some at a time."""

    @property
    def limit(self) -> int:
        """How many jobs are handed over at a time."""
        ...

    def submit(self, job: Job) -> "Future[Outcome]":
        """Begin a job."""
        ...

    def stop(self) -> None:
        """Ask every running job to save and stop."""
        ...


class LocalExecutor:
    """Worker processes of this machine, each watched by a thread of this process."""

    def __init__(self, launcher: Launcher, workers: int):
        self.limit = workers
        self._launcher = launcher
        self._threads = ThreadPoolExecutor(max_workers=workers)
        self._workers: list[Worker] = []

    def submit(self, job: Job) -> "Future[Outcome]":
        """Begin a job in a process of its own."""
        return self._threads.submit(self._launcher, job, self._workers.append)

    def stop(self) -> None:
        """Ask every running job to save and stop."""
        for worker in self._workers:
            worker.stop()


@dataclass(kw_only=True)
class Progress:
    """How far a sweep is. The live table reads it."""

    plan: Plan
    began: float = field(default_factory=time.time)
    flying: dict[str, Job] = field(default_factory=dict)
    finished: list[Job] = field(default_factory=list)
    failed: dict[str, tuple[Job, str]] = field(default_factory=dict)
    elsewhere: dict[str, Job] = field(default_factory=dict)
    notes: list[tuple[Job, str]] = field(default_factory=list)
    stopped: bool = False


Watch = Callable[[Progress], None]


def execute(plan: Plan, executor: Executor, store: Store, watch: Watch) -> Progress:
    """Do every run of a plan; the timing runs last, one at a time. Ctrl-C saves what is running and returns."""
    progress = Progress(plan=plan)
    try:
        _phase([job for job in plan.todo if job.id not in plan.alone], executor, executor.limit, store, progress, watch)
        _phase([job for job in plan.todo if job.id in plan.alone], executor, 1, store, progress, watch)
    except KeyboardInterrupt:
        progress.stopped = True
        executor.stop()
    watch(progress)
    return progress


def _phase(jobs: Sequence[Job], executor: Executor, limit: int, store: Store, progress: Progress, watch: Watch) -> None:
    queue, futures = deque(jobs), dict[Future[Outcome], Job]()
    while queue or futures or progress.elsewhere:
        while queue and len(futures) < limit:
            job = queue.popleft()
            futures[executor.submit(job)] = progress.flying[job.id] = job
        done, _ = wait(futures, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            _settle(futures.pop(future), future.result(), progress)
            _give_up_hopeless(queue, progress)
        if not queue and not futures and progress.elsewhere:
            queue.extend(_still_missing(store, progress))
        watch(progress)


def _settle(job: Job, outcome: Outcome, progress: Progress) -> None:
    del progress.flying[job.id]
    progress.notes += [(job, note) for note in outcome.notes]
    if outcome.status == "finished":
        progress.finished.append(job)
    elif outcome.status == "failed":
        progress.failed[job.id] = (job, outcome.message)
    elif outcome.status == "busy":
        progress.elsewhere[job.id] = job
    else:
        raise KeyboardInterrupt


def _give_up_hopeless(queue: deque[Job], progress: Progress) -> None:
    """Missing data fail every run of a task with the same words: after three, the rest is not tried."""
    words = Counter((job.task, message) for job, message in progress.failed.values() if isinstance(job, RunConfig))
    hopeless = {task: message for (task, message), count in words.items() if count >= _ENOUGH}
    for job in [job for job in queue if isinstance(job, RunConfig) and job.task in hopeless]:
        queue.remove(job)
        progress.failed[job.id] = (job, hopeless[job.task])


def _still_missing(store: Store, progress: Progress) -> list[Job]:
    """Jobs that another sweep had when we came: those it finished count as done, the others are tried again."""
    time.sleep(_PATIENCE)
    waiting = list(progress.elsewhere.values())
    progress.elsewhere.clear()
    missing = []
    for job in waiting:
        try:
            found = read_record(store.folder(job))
        except DamagedRun:
            found = None
        (progress.finished if found else missing).append(job)
    return missing
