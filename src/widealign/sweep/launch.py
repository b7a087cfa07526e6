"""One job in one worker process: start it, wait, start it again if it died, say how it ended."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from widealign.experiments import Job
from widealign.sweep.damage import complaints, lost_checkpoint, size
from widealign.sweep.jobs import to_json
from widealign.sweep.runners import DataAccess
from widealign.sweep.store import Store, read_failure, write_failure
from widealign.sweep.worker import BUSY

RETRIES = 2
_STOPPED = 130
_WORKER = "import sys; from widealign.sweep.worker import main; sys.exit(main())"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a job ended: `busy` means that another sweep has it, `stopped` that someone asked for a stop."""

    status: Literal["finished", "failed", "busy", "stopped"]
    message: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """How worker processes are started.

    Attributes:
        store: Folder of the store.
        threads: Threads that each worker may use.
        runner: `module:function` that does a job in the worker.
    """

    store: Path
    threads: int = 1
    data: DataAccess = field(default_factory=DataAccess)
    runner: str = "widealign.sweep.runners:perform"

    def __call__(self, job: Job, started: Callable[["Worker"], None] = lambda worker: None) -> Outcome:
        """Do the job; a worker that dies is started again, twice, and goes on from its checkpoint."""
        store = Store(self.store)
        folder = store.folder(job)
        notes = [note for note in (lost_checkpoint(folder),) if note]
        log, told = folder / "worker.log", size(folder / "worker.log")
        begun_before = (folder / "config.json").exists()
        for attempt in range(1 + RETRIES):
            worker = Worker(self, job)
            started(worker)
            code = worker.wait()
            if code == 0:
                return Outcome(status="finished", notes=(*notes, *complaints(log, told)))
            if code == BUSY:
                return Outcome(status="busy")
            if worker.stopped or code == _STOPPED:
                return Outcome(status="stopped")
            if code == 1 or code == 2:
                message = self._message(folder, code, worker.complaint)
                if begun_before and code == 2:
                    begun_before = False
                    notes.append(f"could not go on ({message}); done anew, the old folder is {store.set_aside(job)}")
                    continue
                write_failure(folder, message)
                return Outcome(status="failed", message=message, notes=tuple(notes))
            notes.append(f"its worker died ({_death(code)}), attempt {attempt + 1} of {1 + RETRIES}")
        message = f"its worker died {1 + RETRIES} times, the last time by {_death(code)}"
        write_failure(folder, message)
        return Outcome(status="failed", message=message, notes=tuple(notes))

    def _message(self, folder: Path, code: int, complaint: str) -> str:
        """What the worker said: its failure file, or the last line it wrote after an error of the program itself."""
        if code == 2 and (message := read_failure(folder)):
            return message
        log = folder / "worker.log"
        text = complaint or (log.read_text(errors="replace") if log.exists() else "")
        lines = [line for line in text.splitlines() if line.strip()]
        return f"{lines[-1]} ({log} has the rest)" if lines else f"exit code {code}"


class Worker:
    """A running worker process. It ends with this one: its standard input is a pipe that only we hold open."""

    def __init__(self, launcher: Launcher, job: Job):
        request = {
            "job": to_json(job),
            "folder": str(launcher.store / job.id),
            "data": asdict(launcher.data),
            "runner": launcher.runner,
        }
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(launcher.threads))
        self.stopped = False
        self.complaint = ""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,  # until the worker has its log
            env={**os.environ, **threads},
            start_new_session=True,  # Ctrl-C reaches the sweep only, which then asks each worker to save and stop
        )
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(BrokenPipeError):
            pipe.write((json.dumps(request) + "\n").encode())
            pipe.flush()

    def wait(self) -> int:
        """Exit code, negative for a signal."""
        process = self._process
        assert process.stderr is not None
        assert process.stdin is not None
        self.complaint = process.stderr.read().decode(errors="replace")
        code = process.wait()
        process.stderr.close()
        with suppress(BrokenPipeError):
            process.stdin.close()
        return code

    def stop(self) -> None:
        """Ask it to save and stop."""
        self.stopped = True
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)


def _death(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
