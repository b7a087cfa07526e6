"""Small data files made for tests: idx, CIFAR records, and a data set's description that fits them."""

import gzip
import hashlib
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from widealign.data.catalogue import SOURCES, OfficialFile, Source

IDX_NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def idx_bytes(values: np.ndarray) -> bytes:
    """An idx file's content, decompressed."""
    return struct.pack(f">{1 + values.ndim}I", 0x800 + values.ndim, *values.shape) + values.astype(np.uint8).tobytes()


def cifar_bytes(images: np.ndarray, labels: np.ndarray) -> bytes:
    """CIFAR-10 records."""
    return np.concatenate([labels[:, None], images.reshape(len(images), -1)], axis=1).astype(np.uint8).tobytes()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def write_kmnist(folder: Path, num_train: int = 12, num_test: int = 5) -> Path:
    """Four idx files in `folder`, each image filled with its own number, labels counting 0 to 9."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", num_train), ("t10k", num_test)):
        images = np.repeat(np.arange(count), 28 * 28).reshape(count, 28, 28)
        write_gz(folder / f"{part}-images-idx3-ubyte.gz", idx_bytes(images))
        write_gz(folder / f"{part}-labels-idx1-ubyte.gz", idx_bytes(np.arange(count) % 10))
    return folder


def write_cifar(folder: Path, per_file: int = 3) -> Path:
    """Six batch files in `folder`; record i of file f has every pixel 10 f + i."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(SOURCES["cifar10"].files):
        pixels = np.repeat(10 * number + np.arange(per_file), 3072).reshape(per_file, 3072)
        (folder / file.name).write_bytes(cifar_bytes(pixels, (number + np.arange(per_file)) % 10))
    return folder


def write_gz(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))


def official(source: Source, folder: Path) -> Source:
    """The same data set, with the files of `folder` declared the official ones."""
    files = tuple(OfficialFile(name=f.name, md5=md5((folder / f.name).read_bytes())) for f in source.files)
    return replace(source, files=files)


def write_photos(root: Path, classes: tuple[str, ...] = ("cat", "dog"), each: int = 4) -> Path:
    """An image folder of small JPEGs, one of them grey, with noise so that different crops differ."""
    random = np.random.RandomState(0)
    for part in ("train", "val"):
        for name in classes:
            folder = root / part / name
            folder.mkdir(parents=True)
            for number in range(each):
                pixels = random.randint(0, 256, size=(40 + 3 * number, 50, 3)).astype(np.uint8)
                image = Image.fromarray(pixels).convert("L" if number == 0 else "RGB")
                image.save(folder / f"{number}.jpg", quality=90)
    return root
