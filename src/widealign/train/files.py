"""Files that are either whole or not there, and a folder that belongs to one process at a time."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from widealign.errors import UsageError
from widealign.locks import close_when_forked

TEMPORARY = ".tmp"
REPAIR = "restore it, or give another folder by --out"


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a temporary file beside `path`, bring it to the disk, rename it: a reader sees all or nothing.

    Without `durable` the system brings it to the disk when it likes: still all or nothing if this process dies at any
    moment, but not if the power fails.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    with naming(path):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
        except OSError:
            temporary.unlink(missing_ok=True)  # a full disk needs the room
            raise
        temporary.replace(path)
        if durable:
            _sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make an error of the file system name the file: a full disk alone does not say which one it was."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_json(path: Path, content: Any) -> None:
    """`write_atomically`, indented for human readers. Numbers that are not finite are refused: JSON has none."""
    write_atomically(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a JSON file that holds an object, None if there is no such file.

    Raises:
        UsageError: the file is damaged.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UsageError(f"{path} is damaged ({error}): {REPAIR}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} is damaged (it holds no object): {REPAIR}")
    return content


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process. The system frees it when the process ends, however it ends.

    A folder that is still empty when an error ends the block is removed again, if it was made here.

    Raises:
        UsageError: another process holds it, or it cannot be written.
    """
    made = not folder.exists()
    with _open_lock(folder) as file:
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        try:
            yield
        except BaseException:
            _leave_no_trace(folder, made)
            raise


def _open_lock(folder: Path) -> IO[str]:
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / "lock").open("a+")
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be the folder of a run ({error.strerror}): give one that can be written by --out"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "another process"
            file.close()
            raise UsageError(
                f"{folder} is in use by {owner}: wait for it to end, or give another folder by --out"
            ) from None
        if os.fstat(file.fileno()).st_nlink:
            close_when_forked(file)
            return file
        file.close()  # its last owner removed it in between: what has no name keeps nobody out


def _leave_no_trace(folder: Path, made: bool) -> None:
    if [path.name for path in folder.iterdir()] == ["lock"]:
        (folder / "lock").unlink()
        if made:
            folder.rmdir()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
