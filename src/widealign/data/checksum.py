"""md5 of every file against the official one. An unofficial file is an error, or by leave of the user a warning."""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from widealign.data.catalogue import OfficialFile
from widealign.errors import DataError


class UnverifiedDataWarning(UserWarning):
    """A data file is not the official one, and the user allowed that."""


@dataclass(frozen=True, kw_only=True)
class FileCheck:
    """One file's md5 beside the official one.

    `repacked`: the .gz file itself has another md5, but its decompressed content is byte for byte the official one.
    """

    path: Path
    md5: str
    expected: str
    repacked: bool = False

    @property
    def official(self) -> bool:
        """The content is the official one."""
        return self.repacked or self.md5 == self.expected

    @property
    def verdict(self) -> str:
        """The same in words."""
        if self.repacked:
            return "official content, repacked"
        return "official" if self.official else f"NOT OFFICIAL: expected {self.expected}"


def md5_of(data: bytes | memoryview) -> str:
    """Hexadecimal md5. It guards against damage and mix-ups, not against malice."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def check(path: Path, official: OfficialFile, raw: bytes, content: bytes) -> FileCheck:
    """Compare a file (`raw`: its bytes; `content`: the same decompressed) with the official one."""
    md5 = md5_of(raw)
    repacked = md5 != official.md5 and official.content_md5 is not None and md5_of(content) == official.content_md5
    return FileCheck(path=path, md5=md5, expected=official.md5, repacked=repacked)


def require_official(task: str, checks: Sequence[FileCheck], *, allow_unverified: bool) -> None:
    """Raise for files that are not official, all at once; or warn for each if `allow_unverified`.

    Raises:
        DataError: some file has not the official md5, and `allow_unverified` is False.
    """
    wrong = [_mismatch(entry) for entry in checks if not entry.official]
    if not wrong:
        return
    if allow_unverified:
        for message in wrong:
            warnings.warn(f"{task}: {message}; used because --allow-unverified was given", UnverifiedDataWarning, 2)
        return
    raise DataError(
        f"{task}: not the official data: {'; '.join(wrong)}. Delete what is wrong and run "
        f"`widealign data fetch {task}`, or pass --allow-unverified if you mean to use these files"
    )


def _mismatch(entry: FileCheck) -> str:
    size = entry.path.stat().st_size
    return f"{entry.path} ({size} bytes): expected md5 {entry.expected}, got {entry.md5}"
