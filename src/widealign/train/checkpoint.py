"""Checkpoints: a crash at any moment leaves a whole one behind, and a damaged one is noticed and passed over."""

import hashlib
import io
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from widealign.train.files import TEMPORARY, write_atomically

_NAME = re.compile(r"(\d+)-([0-9a-f]{32})\.pt")
_KEPT = 2  # the newest, and the one before in case the newest is damaged

log = logging.getLogger(__name__)


def save(folder: Path, state: Mapping[str, Any], *, durable: bool = True, keep: Path | None = None) -> Path:
    """Write `state` as the newest checkpoint of `folder`, and remove all but it and the one before.

    The name of the file is its serial number and the checksum of its content, so one rename makes both visible.
    Torch's own format inside, loadable with `weights_only=True`: tensors and plain values, no pickled objects.

    Args:
        folder: of the checkpoints; made if needed.
        state: what to save.
        durable: whether it is on the disk when this returns. Waiting for that takes longer than a small epoch; without
            it the checkpoint survives the end of this process, however it ends, but perhaps not a power failure.
        keep: an older checkpoint that is not removed: the last durable one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    content = buffer.getvalue()
    older = _newest_first(folder)
    serial = 1 + max((_serial(path) for path in older), default=0)
    path = folder / f"{serial:08d}-{_checksum(content)}.pt"
    write_atomically(path, content, durable=durable)
    _prune(folder, [old for old in older[_KEPT - 1 :] if old != keep])
    return path


def load_newest(folder: Path) -> dict[str, Any] | None:
    """The state of the newest checkpoint that is whole, None if there is none. Damaged ones are named in the log."""
    return next(load_all(folder), None)


def load_all(folder: Path) -> Iterator[dict[str, Any]]:
    """The states of all checkpoints that are whole, the newest first."""
    for path in _newest_first(folder):
        content = path.read_bytes()
        if path.name.endswith(f"-{_checksum(content)}.pt"):
            yield torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        else:
            log.warning("%s is damaged (its checksum is not the one in its name) and is passed over", path)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _serial(path: Path) -> int:
    return int(path.name.split("-")[0])


def _newest_first(folder: Path) -> list[Path]:
    found = (path for path in folder.glob("*.pt") if _NAME.fullmatch(path.name))
    return sorted(found, key=_serial, reverse=True)


def _prune(folder: Path, old: list[Path]) -> None:
    for path in (*old, *folder.glob(f"*{TEMPORARY}")):
        path.unlink(missing_ok=True)
