"""The worker process: one job, in its folder, then it ends. The job comes on its standard input.

It holds the folder's lock, writes what it prints to worker.log there, and ends at once when its parent is gone, so
that a killed sweep leaves nothing running behind it.
"""

import json
import os
import signal
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from widealign.errors import WidealignError
from widealign.sweep.jobs import from_json
from widealign.sweep.store import held, write_failure, write_json

BUSY = 75
ORPHANED = 76


def main() -> int:
    """Exit code 0: there is a result. 75: another process has the folder. 2 and more: failure.json says why."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    request = json.loads(_first_line())
    folder = Path(request["folder"])
    with held(folder) as mine:
        if not mine:
            return BUSY
        threading.Thread(target=_end_with_parent, daemon=True).start()
        _print_to(folder / "worker.log")
        try:
            _perform(request, folder)
        except WidealignError as error:
            if error.exit_code == 2:
                write_failure(folder, str(error))
            return error.exit_code
        (folder / "failure.json").unlink(missing_ok=True)
        return 0


def _perform(request: dict[str, Any], folder: Path) -> None:
    job = from_json(request["job"])
    write_json(folder / "job.json", request["job"])
    module, _, function = request["runner"].partition(":")
    from widealign.sweep.runners import DataAccess

    getattr(import_module(module), function)(job, folder, DataAccess(**request["data"]))


def _first_line() -> bytes:
    """Unbuffered, so that the thread below can wait on the same descriptor."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def _end_with_parent() -> None:
    """The parent writes nothing more: a read that returns means that it is gone."""
    os.read(0, 1)
    os._exit(ORPHANED)


def _print_to(path: Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(log, f"--- {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode())
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
