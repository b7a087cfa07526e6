"""Taking the expected files, and nothing else, out of a downloaded .tar.gz."""

import os
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from widealign.data.catalogue import OfficialFile
from widealign.data.checksum import md5_of
from widealign.errors import DataError


def unpack(archive: Path, inside: str, files: Sequence[OfficialFile], target: Path) -> None:
    """Write the archive's members `inside/NAME` to `target/NAME`, for the expected names only.

    Members are read as bytes and checked; the archive has no say in where anything is written.

    Args:
        archive: a .tar.gz file.
        inside: the folder in the archive.
        files: the expected names and their md5.
        target: the folder to write to.

    Raises:
        DataError: the archive is damaged, lacks a file, or holds one that is not the official one.
    """
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for file in files:
                _write(target / file.name, _member(tar, f"{inside}/{file.name}", file, archive))
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise DataError(f"{archive}: cannot be unpacked ({error}); delete it and fetch again") from error


def _member(tar: tarfile.TarFile, name: str, file: OfficialFile, archive: Path) -> bytes:
    try:
        info = tar.getmember(name)
    except KeyError:
        raise DataError(f"{archive}: lacks {name}; delete it and fetch again") from None
    stream = tar.extractfile(info) if info.isreg() else None
    if stream is None:
        raise DataError(f"{archive}: {name} is not a regular file; delete the archive and fetch again")
    content = stream.read()
    got = md5_of(content)
    if got != file.md5:
        raise DataError(f"{archive}: {name}: expected md5 {file.md5}, got {got}; delete the archive and fetch again")
    return content


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
