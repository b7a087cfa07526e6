"""Folders of images, ROOT/{train,val}/CLASS/*: listed and checked once, with all problems reported together."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from widealign.data.locate import candidates, not_found
from widealign.errors import DataError

SUFFIXES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True, kw_only=True)
class ImageList:
    """Files in order of class and name; `labels[i]` is the position of file i's class in `classes`."""

    paths: tuple[Path, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def digest(self) -> str:
        """A checksum of which files there are: it changes with any that is added, removed or renamed.

        Not with a file's content: a broken image can be restored in the middle of a run.
        """
        names = (f"{path.parent.name}/{path.name}\n" for path in self.paths)
        return hashlib.md5("".join(names).encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ImageFolder:
    """The images of ROOT/train and of ROOT/val. Both have the same classes."""

    root: Path
    train: ImageList
    test: ImageList

    @property
    def num_classes(self) -> int:
        """How many class folders there are."""
        return len(self.train.classes)


def image_folder(data_dir: Path | None = None) -> ImageFolder:
    """List the images of `imagenet/{train,val}/CLASS/*.{jpg,jpeg,png}`.

    Looks in `data_dir`, then $WIDEALIGN_DATA, then ~/.cache/widealign. Other files are passed over. No image is opened.

    Args:
        data_dir: a folder that holds `imagenet`, or `train` and `val` themselves.

    Raises:
        DataError: nothing found; a class without images; classes of `train` and `val` that differ.
    """
    places = candidates("imagenet", data_dir)
    root = next((place for place in places if (place / "train").is_dir() and (place / "val").is_dir()), None)
    if root is None:
        raise DataError(not_found("imagenet", ["train/CLASS/*.JPEG", "val/CLASS/*.JPEG"], places))
    found = {part: _files_by_class(root / part) for part in ("train", "val")}
    problems = _problems(root, found)
    if problems:
        raise DataError(f"{root} is not a usable image folder: {'; '.join(problems)}. Complete it or remove the class")
    return ImageFolder(root=root, train=_listing(found["train"]), test=_listing(found["val"]))


def _files_by_class(folder: Path) -> dict[str, list[Path]]:
    classes = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    return {
        entry.name: sorted(path for path in entry.iterdir() if path.suffix.lower() in SUFFIXES) for entry in classes
    }


def _problems(root: Path, found: dict[str, dict[str, list[Path]]]) -> list[str]:
    train, val = found["train"], found["val"]
    problems = [f"{root / part} has no class folders" for part, classes in found.items() if not classes]
    problems += [
        f"class folder {root / part / name} is empty: expected {', '.join(SUFFIXES)} files"
        for part, classes in found.items()
        for name, paths in classes.items()
        if not paths
    ]
    for part, only in (("train", train.keys() - val.keys()), ("val", val.keys() - train.keys())):
        if only and train and val:
            problems.append(f"only in {part}: class {', '.join(sorted(only))}")
    return problems


def _listing(by_class: dict[str, list[Path]]) -> ImageList:
    pairs = [(path, label) for label, paths in enumerate(by_class.values()) for path in paths]
    paths, labels = zip(*pairs, strict=True)
    return ImageList(paths=paths, labels=labels, classes=tuple(by_class))
