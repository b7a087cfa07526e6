"""Small data sets in the official formats."""

import gzip
import struct
from pathlib import Path

import numpy as np
from PIL import Image


def kmnist_files(folder: Path, train: int, test: int) -> None:
    """Random images whose class shows in one bright row, as idx files."""
    chance = np.random.RandomState(0)
    for part, count in (("train", train), ("t10k", test)):
        labels = chance.randint(0, 10, count).astype(np.uint8)
        images = chance.randint(0, 60, (count, 28, 28)).astype(np.uint8)
        images[np.arange(count), 2 * labels + 3] = 255
        _gzip(folder / f"{part}-images-idx3-ubyte.gz", struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        _gzip(folder / f"{part}-labels-idx1-ubyte.gz", struct.pack(">II", 2049, count) + labels.tobytes())


def image_folder(folder: Path, train: int, test: int) -> None:
    """Photos of two colours, of varied sizes, some grey."""
    chance = np.random.RandomState(0)
    for part, count in (("train", train), ("val", test)):
        for name, channel in (("blue", 2), ("red", 0)):
            (folder / part / name).mkdir(parents=True)
            for index in range(count):
                pixels = chance.randint(0, 120, (chance.randint(60, 90), chance.randint(60, 90), 3)).astype(np.uint8)
                pixels[..., channel] += 100
                image = Image.fromarray(pixels).convert("L" if index == 0 else "RGB")
                image.save(folder / part / name / f"{index:03d}.jpg")


def _gzip(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))
