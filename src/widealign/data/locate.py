"""Where data are looked for: the folder given, then $WIDEALIGN_DATA, then ~/.cache/widealign."""

import os
from collections.abc import Sequence
from pathlib import Path

from widealign.data.catalogue import Source
from widealign.errors import DataError

ENVIRONMENT = "WIDEALIGN_DATA"


def roots(data_dir: Path | None) -> tuple[Path, ...]:
    """The folders to look in, first wins; a download goes to the first."""
    named = [Path(folder) for folder in (data_dir, os.environ.get(ENVIRONMENT)) if folder]
    return tuple(folder.expanduser() for folder in (*named, Path("~/.cache/widealign")))


def candidates(folder: str, data_dir: Path | None) -> tuple[Path, ...]:
    """Below each root its sub-folder of the official name; a root the user named may also *be* that folder."""
    *named, cache = roots(data_dir)
    return (*(place for root in named for place in (root / folder, root)), cache / folder)


def locate(source: Source, data_dir: Path | None) -> Path:
    """The first folder that holds files of this data set; it must hold all of them.

    A folder that holds only some of them is an error rather than passed over: the user meant it, and silently reading
    other data than those would be worse.

    Raises:
        DataError: no folder holds the files, or one holds only some of them.
    """
    if source.home is not None:
        return source.home / source.folder
    places = candidates(source.folder, data_dir)
    names = [file.name for file in source.files]
    for place in places:
        missing = [name for name in names if not (place / name).is_file()]
        if not missing:
            return place
        if len(missing) < len(names):
            raise DataError(
                f"{source.task}: {place} holds only some of its files; missing: {', '.join(missing)}. "
                f"Put them there, or run `widealign data fetch {source.task} --data-dir {_root_of(place, source)}`"
            )
    raise DataError(not_found(source.task, names, places))


def not_found(task: str, names: Sequence[str], places: Sequence[Path]) -> str:
    """One sentence: the files expected, the folders tried, the command that fetches them."""
    fetching = "" if task == "imagenet" else f"run `widealign data fetch {task}`, or "
    return (
        f"{task} was not found: expected {', '.join(names)} in one of {', '.join(map(str, places))}; "
        f"{fetching}put the files there, or name their folder by --data-dir or ${ENVIRONMENT}"
    )


def _root_of(place: Path, source: Source) -> Path:
    return place.parent if place.name == source.folder else place
