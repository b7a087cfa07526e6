"""The data sets as facts: file names, md5 of every official file, addresses, shapes. No torch here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from widealign.errors import UsageError

BUNDLED = Path(__file__).with_name("bundled")


@dataclass(frozen=True, kw_only=True)
class OfficialFile:
    """A file by name and by what it must hold.

    `content_md5` is that of the decompressed content, where it is known: packagers strip name and time from the
    header of .gz files, which changes the file's own md5 and not one pixel. Each was computed from a file that has the
    official md5, or has it once name and time are put back into its header (a test does that).
    """

    name: str
    md5: str
    content_md5: str | None = None


@dataclass(frozen=True, kw_only=True)
class Download:
    """One address, and what arrives from it: either a file of the data set or an archive of them."""

    url: str
    name: str
    md5: str
    archive: bool = False


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a data set lies, how it is laid out, and what it must hold."""

    task: str
    folder: str
    layout: Literal["cifar", "idx"]
    image_shape: tuple[int, int, int]
    num_classes: int
    files: tuple[OfficialFile, ...]
    downloads: tuple[Download, ...] = ()
    home: Path | None = None  # where the bundled data lie; None: looked for in the user's folders


def _idx_files(digests: dict[str, tuple[str, str | None]]) -> tuple[OfficialFile, ...]:
    return tuple(OfficialFile(name=f"{k}-ubyte.gz", md5=md5, content_md5=c) for k, (md5, c) in digests.items())


def _each_from(address: str, files: tuple[OfficialFile, ...]) -> tuple[Download, ...]:
    return tuple(Download(url=address + file.name, name=file.name, md5=file.md5) for file in files)


_CIFAR10_FILES = tuple(
    OfficialFile(name=name, md5=md5)
    for name, md5 in {
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    }.items()
)
_KMNIST_FILES = _idx_files(
    {
        "train-images-idx3": ("bdb82020997e1d708af4cf47b453dcf7", None),
        "train-labels-idx1": ("e144d726b3acfaa3e44228e80efcd344", None),
        "t10k-images-idx3": ("5c965bf0a639b31b8f53240b1b52f4d7", "bf305b8cd328700fbc17f5acbc2856d2"),
        "t10k-labels-idx1": ("7320c461ea6c1c855c0b718fb2a4b134", "9f55f451c0988b028eccdf7d5cc265ab"),
    }
)
_FASHION_FILES = _idx_files(
    {
        "train-images-idx3": ("8d4fb7e6c68d591d4c3dfef9ec88bf0d", "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
        "train-labels-idx1": ("25c81989df183df01b3e8a0aad5dffbe", "9018921c3c673c538a1fc5bad174d6f9"),
        "t10k-images-idx3": ("bef4ecab320f06d8554ea6380940ec79", "8181f5470baa50b63fa0f6fddb340f0a"),
        "t10k-labels-idx1": ("bb300cfdad3c16e7a12a480ee83cd310", "15d484375f8d13e6eb1aabb0c3f46965"),
    }
)
_DIGITS_FILES = _idx_files(
    {
        "train-images-idx3": ("10c23fc5bcf378934bbda719baae3550", None),
        "train-labels-idx1": ("5db9434642a8f6284e85aa4f728f0eeb", None),
        "t10k-images-idx3": ("3afc2a9da853ca9b37d236dff997c342", None),
        "t10k-labels-idx1": ("de44d0e0a7a9b5b04de435049e93250d", None),
    }
)

SOURCES: dict[str, Source] = {
    "cifar10": Source(
        task="cifar10",
        folder="cifar-10-batches-bin",
        layout="cifar",
        image_shape=(3, 32, 32),
        num_classes=10,
        files=_CIFAR10_FILES,
        downloads=(
            Download(
                url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                name="cifar-10-binary.tar.gz",
                md5="c32a1d4ab5d03f1284b67883e8d87530",
                archive=True,
            ),
        ),
    ),
    "kmnist": Source(
        task="kmnist",
        folder="kmnist",
        layout="idx",
        image_shape=(1, 28, 28),
        num_classes=10,
        files=_KMNIST_FILES,
        downloads=_each_from("http://codh.rois.ac.jp/kmnist/dataset/kmnist/", _KMNIST_FILES),
    ),
    "fashion-mnist": Source(
        task="fashion-mnist",
        folder="fashion-mnist",
        layout="idx",
        image_shape=(1, 28, 28),
        num_classes=10,
        files=_FASHION_FILES,
        downloads=_each_from("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", _FASHION_FILES),
    ),
    "digits": Source(
        task="digits",
        folder="digits",
        layout="idx",
        image_shape=(1, 8, 8),
        num_classes=10,
        files=_DIGITS_FILES,
        home=BUNDLED,
    ),
}

TASKS = (*SOURCES, "imagenet", "add")


def source_of(task: str) -> Source:
    """The entry of a data set that is read into memory.

    Raises:
        UsageError: the task is unknown, or is not a set of files that is read into memory.
    """
    if task in SOURCES:
        return SOURCES[task]
    if task == "imagenet":
        raise UsageError("imagenet is a folder of images that does not fit in memory: use data.image_folder(data_dir)")
    if task == "add":
        raise UsageError("add is generated, not read from files: use data.add_task(seed)")
    raise UsageError(f"task must be one of {', '.join(TASKS)}; given {task!r}")
