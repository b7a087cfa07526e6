"""Decompressing a .gz file that was read into memory. No torch here."""

import zlib
from pathlib import Path

from widealign.errors import DataError

_CHUNK = 1 << 16
_GZIP = 31  # zlib's window bits for a gzip header and its checksum


def gunzip(raw: bytes, path: Path) -> bytes:
    """Decompress a .gz file that was read into memory.

    Raises:
        DataError: not gzip, damaged, cut short, or followed by other bytes; names the byte of the compressed file.
    """
    stream, start = zlib.decompressobj(_GZIP), 0
    pieces = []
    for start in range(0, len(raw), _CHUNK):
        try:
            pieces.append(stream.decompress(raw[start : start + _CHUNK]))
        except zlib.error as error:
            end = min(start + _CHUNK, len(raw))
            raise damaged(path, f"not readable as gzip between byte {start} and byte {end} ({error})") from None
        if stream.eof:
            break
    if not stream.eof:
        raise damaged(path, f"the compressed file is cut short: it ends at byte {len(raw)}")
    end = start + min(_CHUNK, len(raw) - start) - len(stream.unused_data)
    if end != len(raw):
        raise damaged(path, f"{len(raw) - end} bytes follow the end of the compressed data at byte {end}")
    return b"".join(pieces)


def damaged(path: Path, what: str) -> DataError:
    """The error for a file that does not hold what it should."""
    return DataError(f"{path}: {what}. The file is damaged or not what its name says: fetch it again")
