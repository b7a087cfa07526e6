"""Checkpoints: a crash at any moment leaves a whole one behind, and a damaged one is noticed and passed over."""

import hashlib
import io
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from widealign.train.files import TEMPORARY, write_atomically

_NAME = re.compile(r"(\d+)-([0-9a-f]{32})\.pt")
_KEPT = 2  # the newest, and the one before in case the newest is damaged

log = logging.getLogger(__name__)


def save(folder: Path, state: Mapping[str, Any]) -> Path:
    """Write `state` as the newest checkpoint of `folder`.

    The name of the file is its serial number and the checksum of its content, so one rename makes both visible.
    Torch's own format inside, loadable with `weights_only=True`: tensors and plain values, no pickled objects.
    """
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    content = buffer.getvalue()
    older = _newest_first(folder)
    serial = 1 + max((_serial(path) for path in older), default=0)
    path = folder / f"{serial:08d}-{_checksum(content)}.pt"
    write_atomically(path, content)
    _prune(folder, older[_KEPT - 1 :])
    return path


def load_newest(folder: Path) -> dict[str, Any] | None:
    """The state of the newest checkpoint that is whole, None if there is none. Damaged ones are named in the log."""
    for path in _newest_first(folder):
        content = path.read_bytes()
        if path.name.endswith(f"-{_checksum(content)}.pt"):
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        log.warning("%s is damaged (its checksum is not the one in its name): going back to the one before", path)
    return None


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
