"""Fetching one file: streamed into NAME.part, resumed where it stopped, checked by md5, put in place atomically."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from widealign.errors import DataError

Progress = Callable[[int, int | None], None]  # bytes here, bytes in all if the server says

_CHUNK = 1 << 18
_ATTEMPTS = 4
_TIMEOUT = 30  # seconds without a byte
_RANGE_PAST_THE_END = 416


class _BrokenOffError(Exception):
    """A transfer ended early; another attempt may go on from there."""


def download(url: str, target: Path, md5: str, progress: Progress = lambda done, total: None) -> None:
    """Fetch `url` to `target`.

    What a broken transfer left in `target.part` is kept, and the next attempt or the next call asks only for the rest.

    Args:
        url: http or https address.
        target: where the file goes; it appears there only complete and correct.
        md5: what the content must have.
        progress: told the bytes so far and in all.

    Raises:
        DataError: the address cannot be reached, the transfer keeps breaking off, or the content has another md5.
    """
    part = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _append(url, part, progress)
            break
        except (_BrokenOffError, urllib.error.URLError, http.client.HTTPException, OSError) as error:
            if attempt == _ATTEMPTS or not _worth_another_try(error):
                raise DataError(f"could not fetch {url}: {_reason(error)}{_kept(part)}") from error
    got = _md5_of_file(part)
    if got != md5:
        part.unlink()
        raise DataError(f"{url}: expected md5 {md5}, got {got}; it was discarded: try again, or get the file elsewhere")
    _put_in_place(part, target)


def _append(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == _RANGE_PAST_THE_END and have:
            return  # all of it is here already; the md5 decides
        raise
    with response:
        resumed = response.status == http.client.PARTIAL_CONTENT
        done = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else None
        with part.open("ab" if resumed else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                progress(done, total)
            file.flush()
            os.fsync(file.fileno())
    if total is not None and done < total:
        raise _BrokenOffError(f"the transfer ended at byte {done} of {total}")


def _worth_another_try(error: Exception) -> bool:
    """Broken transfers are; addresses that do not answer, or answer "no", are not."""
    return isinstance(error, (_BrokenOffError, http.client.HTTPException, ConnectionError, TimeoutError))


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    return str(error.reason if isinstance(error, urllib.error.URLError) else error) or type(error).__name__


def _kept(part: Path) -> str:
    if not part.exists():
        return ""
    return f" ({part.stat().st_size} bytes are kept in {part}; the next fetch goes on from there)"


def _md5_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _put_in_place(part: Path, target: Path) -> None:
    os.replace(part, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
