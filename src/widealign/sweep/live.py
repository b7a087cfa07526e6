"""What a person sees while a sweep runs: a live table in a terminal, one line a run elsewhere."""

import time
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from widealign.config import RunConfig
from widealign.experiments import Job
from widealign.sweep.execute import Progress
from widealign.sweep.store import Store
from widealign.sweep.words import duration, label

_SHOWN = 12


def remaining(progress: Progress, workers: int) -> float:
    """Seconds left: the plan's estimate, corrected by how long the finished runs really took."""
    plan = progress.plan
    over = {job.id for job in progress.finished} | set(progress.failed)
    left = sum(seconds for name, seconds in plan.seconds.items() if name not in over)
    estimated = sum(plan.seconds[name] for name in over)
    spent = (time.time() - progress.began) * workers
    pace = spent / estimated if estimated > 30 else 1.0
    return max(0.0, left * min(max(pace, 0.2), 5.0) / workers)


class LivePicture:
    """Redraws the table about twice a second; in a pipe or a file it prints a line when a run ends."""

    def __init__(self, console: Console, store: Store, workers: int):
        self._console, self._store, self._workers = console, store, workers
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._told = 0
        self._notes = 0

    def __enter__(self) -> "LivePicture":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show how far the sweep is."""
        for job, note in progress.notes[self._notes :]:
            self._console.print(Text(f"{job.id}  {label(job)}: {note}", style="yellow"))
        self._notes = len(progress.notes)
        if self._live:
            self._live.update(self._picture(progress), refresh=True)
        else:
            self._tell(progress)

    def _tell(self, progress: Progress) -> None:
        ended = [*progress.finished, *(job for job, _ in progress.failed.values())]
        if len(ended) > self._told:
            left = duration(remaining(progress, self._workers))
            count = f"{len(ended)}/{len(progress.plan.todo)}"
            self._console.print(Text(f"{count}  {label(ended[-1])}  ({left} left)"))
            self._told = len(ended)

    def _picture(self, progress: Progress) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("running", "epoch", "for"):
            table.add_column(name, justify="left" if name == "running" else "right")
        running = [job for job in progress.flying.values() if self._since(job, progress) is not None]
        for job in running[:_SHOWN]:
            table.add_row(label(job), self._epoch(job), duration(time.time() - (self._since(job, progress) or 0)))
        if len(running) > _SHOWN:
            table.add_row(f"and {len(running) - _SHOWN} more", "", "")
        return Group(*([table] if running else []), self._totals(progress), *self._failures(progress))

    def _totals(self, progress: Progress) -> RenderableType:
        total, done = len(progress.plan.todo), len(progress.finished) + len(progress.failed)
        line = Table.grid(padding=(0, 2))
        words = [f"{len(progress.finished)} of {total} done"]
        words += [f"{len(progress.failed)} failed"] if progress.failed else []
        words += [f"{len(progress.elsewhere)} with another sweep"] if progress.elsewhere else []
        words += [f"about {duration(remaining(progress, self._workers))} left"]
        line.add_row(ProgressBar(total=max(total, 1), completed=done, width=30), " · ".join(words))
        return line

    def _failures(self, progress: Progress) -> list[Text]:
        last = list(progress.failed.values())[-3:]
        return [Text(f"failed: {label(job)}: {message.splitlines()[0]}", style="red") for job, message in last]

    def _since(self, job: Job, progress: Progress) -> float | None:
        """When its worker began; None while it waits for a place."""
        began = _changed(self._store.folder(job) / "job.json")
        return began if began is not None and began >= progress.began - 1 else None

    def _epoch(self, job: Job) -> str:
        if not isinstance(job, RunConfig):
            return ""
        metrics = self._store.folder(job) / "metrics.jsonl"
        try:
            done = metrics.read_bytes().count(b'"kind": "epoch"')
        except FileNotFoundError:
            done = 0
        return f"{done}/{job.epochs}"


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None
