"""A data set in memory: read, checked in structure, then by md5."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from widealign.data.catalogue import OfficialFile, Source, source_of
from widealign.data.checksum import FileCheck, check, require_official
from widealign.data.cifar import cifar_batch, join
from widealign.data.gunzip import gunzip
from widealign.data.idx import idx_images, idx_labels
from widealign.data.locate import locate
from widealign.errors import DataError


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Images and labels in their original order.

    Images are uint8 of shape (N, channels, height, width), labels int64 of shape (N,). `files` maps the name of every
    file that was read to its md5: what a run writes down to say which data it saw.
    """

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    num_classes: int
    files: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _File:
    path: Path
    content: bytes
    check: FileCheck


def load(task: str, *, data_dir: Path | None = None, allow_unverified: bool = False) -> Dataset:
    """Read `cifar10`, `kmnist`, `fashion-mnist` or `digits`.

    Looks in `data_dir`, then $WIDEALIGN_DATA, then ~/.cache/widealign; `digits` comes with the package.

    Example:
        >>> digits = load("digits")
        >>> digits.train_images.shape, digits.test_images.shape, digits.train_images.dtype
        (torch.Size([1297, 1, 8, 8]), torch.Size([500, 1, 8, 8]), torch.uint8)

    Args:
        task: which data set.
        data_dir: a folder that holds the data set's folder, or its files themselves.
        allow_unverified: files whose md5 is not the official one give a warning instead of an error.

    Raises:
        DataError: a file is missing, damaged, inconsistent with another, or not the official one.
    """
    source = source_of(task)
    dataset, checks = read(source, locate(source, data_dir))
    require_official(task, checks, allow_unverified=allow_unverified)
    return dataset


def read(source: Source, folder: Path) -> tuple[Dataset, tuple[FileCheck, ...]]:
    """Read a data set from a folder and check its structure. What its md5 checks found is left to the caller to judge.

    Structure comes first because "cut short at byte 512" tells the user more than "the md5 differs", which follows.

    Raises:
        DataError: a file is damaged, or inconsistent with another.
    """
    files = {official.name: _read_file(folder / official.name, official) for official in source.files}
    train, test = _READERS[source.layout](source, files)
    dataset = Dataset(
        train_images=train[0],
        train_labels=train[1],
        test_images=test[0],
        test_labels=test[1],
        num_classes=source.num_classes,
        files={name: file.check.md5 for name, file in files.items()},
    )
    return dataset, tuple(file.check for file in files.values())


def _read_file(path: Path, official: OfficialFile) -> _File:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}): check its permissions") from error
    content = gunzip(raw, path) if path.suffix == ".gz" else raw
    return _File(path=path, content=content, check=check(path, official, raw, content))


_Part = tuple[Tensor, Tensor]


def _read_idx(source: Source, files: Mapping[str, _File]) -> tuple[_Part, _Part]:
    return _idx_part(source, files, "train"), _idx_part(source, files, "t10k")


def _idx_part(source: Source, files: Mapping[str, _File], part: str) -> _Part:
    of_images, of_labels = files[f"{part}-images-idx3-ubyte.gz"], files[f"{part}-labels-idx1-ubyte.gz"]
    _, height, width = source.image_shape
    images = idx_images(of_images.content, of_images.path, height, width)
    labels = idx_labels(of_labels.content, of_labels.path, source.num_classes)
    if len(images) != len(labels):
        raise DataError(
            f"{of_images.path} holds {len(images)} images but {of_labels.path} holds {len(labels)} labels (the counts "
            "at byte 4 of both): the two files do not belong together; fetch them again"
        )
    return images, labels


def _read_cifar(source: Source, files: Mapping[str, _File]) -> tuple[_Part, _Part]:
    batches = {
        name: cifar_batch(file.content, file.path, source.image_shape, source.num_classes)
        for name, file in files.items()
    }
    test = batches.pop("test_batch.bin")
    return join(batches), test


_READERS = {"idx": _read_idx, "cifar": _read_cifar}
