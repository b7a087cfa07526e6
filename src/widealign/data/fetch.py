"""Getting a whole data set: every file that is missing or wrong, from its official address."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from widealign.data.archive import unpack
from widealign.data.catalogue import Download, OfficialFile, Source
from widealign.data.checksum import check
from widealign.data.download import Progress, download
from widealign.data.gunzip import gunzip
from widealign.errors import DataError

Reporter = Callable[[str], AbstractContextManager[Progress]]  # for each file, by name, a place to report to


def fetch_source(source: Source, root: Path, reporter: Reporter) -> list[Path]:
    """Bring the files of a data set to `root`/FOLDER; what is there and official stays.

    Args:
        source: the data set.
        root: the data folder.
        reporter: opens a progress display for each file that is fetched.

    Returns:
        The data set's files that had to be fetched.

    Raises:
        DataError: names the folder and the files expected there if they cannot be fetched.
    """
    folder = root / source.folder
    wanted = [file for file in source.files if not _is_official(folder / file.name, file)]
    names = {file.name for file in wanted}
    for item in source.downloads:
        if wanted and (item.archive or item.name in names):
            _fetch_one(source, item, folder, reporter)
    return [folder / file.name for file in wanted]


def _fetch_one(source: Source, item: Download, folder: Path, reporter: Reporter) -> None:
    target = folder.parent / item.name if item.archive else folder / item.name
    try:
        with reporter(item.name) as progress:
            download(item.url, target, item.md5, progress)
    except DataError as error:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        expected = ", ".join(file.name for file in source.files)
        raise DataError(
            f"{error}; {source.task} is expected in {folder} as {expected}: put the files there by hand, or run "
            f"`widealign data fetch {source.task} --data-dir {folder.parent}` again"
        ) from error
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror}): choose another --data-dir") from error
    if item.archive:
        unpack(target, source.folder, source.files, folder)
        target.unlink()


def _is_official(path: Path, file: OfficialFile) -> bool:
    if not path.is_file():
        return False
    raw = path.read_bytes()
    try:
        content = gunzip(raw, path) if path.suffix == ".gz" else raw
    except DataError:
        return False
    return check(path, file, raw, content).official
