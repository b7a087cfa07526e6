"""The log of a run: one JSON object a line. It holds nothing of the clock, so equal runs write equal bytes."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from widealign.errors import UsageError
from widealign.train.files import REPAIR, naming


class Metrics:
    """Appends lines to a file that another process may follow with `tail -f`."""

    def __init__(self, path: Path, *, position: int = 0):
        """Open the file, and cut off what was written after `position`: the steps since then will be done again.

        Raises:
            UsageError: the file is shorter than the checkpoint says, so its beginning is lost.
        """
        self.path = path
        # Unbuffered: what could not be written is not tried again when the file is closed.
        self._file = path.open("ab", buffering=0)
        length = self._file.seek(0, os.SEEK_END)
        if length < position:
            self._file.close()
            raise UsageError(
                f"{path} has {length} bytes where its checkpoint saw {position}: it was changed since. Restore it, or "
                "start again in another folder"
            )
        self._file.truncate(position)

    def write(self, *records: Mapping[str, Any]) -> None:
        """Append records, visible to others at once. Numbers that are not finite become null."""
        lines = memoryview(b"".join(_line(record) for record in records))
        with naming(self.path):
            while lines:
                lines = lines[self._file.write(lines) :]

    def sync(self) -> int:
        """Bring everything to the disk. Returns the file's length: a checkpoint that holds it can trust it."""
        with naming(self.path):
            os.fsync(self._file.fileno())
        return self.length()

    def length(self) -> int:
        """Bytes that were written; the system brings them to the disk when it likes."""
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The records of one kind. A last line that is still being written is passed over.

    Raises:
        UsageError: another line holds no record.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n") and (record := _record(line, f"{path}, line {number},"))["kind"] == kind:
                yield record


def epochs(path: Path) -> list[dict[str, Any]]:
    """The figures of every epoch, with those of the test set that were computed at the end.

    Raises:
        UsageError: an epoch lacks a figure that others have.
    """
    late = {record["epoch"]: record for record in read(path, "test")}
    found = list(read(path, "epoch"))
    if any(record.keys() != found[-1].keys() or type(record["epoch"]) is not int for record in found):
        raise UsageError(f"{path} is damaged, its epochs have different figures: {REPAIR}")
    return [record | late.get(record["epoch"], {}) | {"kind": "epoch"} for record in found]


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict) or "kind" not in record:
        raise UsageError(f"{where} is damaged: {REPAIR}")
    return record


def _line(record: Mapping[str, Any]) -> bytes:
    plain = {name: _finite(value) for name, value in record.items()}
    return (json.dumps(plain, allow_nan=False) + "\n").encode()


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
