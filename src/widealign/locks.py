"""Locks on folders that only the process that took them holds."""

import os
import weakref
from typing import IO, Any

_held = weakref.WeakSet[IO[Any]]()


def close_when_forked(file: IO[Any]) -> None:
    """A forked child (a reader of images, say) must not go on holding a lock when its parent is killed."""
    _held.add(file)


def _leave_behind() -> None:
    for file in list(_held):
        file.close()


os.register_at_fork(after_in_child=_leave_behind)
