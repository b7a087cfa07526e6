"""The real files, where they are on this machine."""

import struct
from pathlib import Path

import pytest

from widealign import data
from widealign.data.catalogue import SOURCES
from widealign.data.locate import locate
from widealign.errors import DataError

from .builders import md5

pytestmark = pytest.mark.data


def folder_of(task: str) -> Path:
    try:
        return locate(SOURCES[task], None)
    except DataError as error:
        pytest.skip(str(error))


def test_cifar10():
    folder_of("cifar10")
    found = data.load("cifar10")
    assert found.train_images.shape == (50000, 3, 32, 32)
    assert found.train_labels.bincount().tolist() == [5000] * 10
    assert found.test_labels.bincount().tolist() == [1000] * 10
    # The set's published channel means of the training images, times 255.
    means = found.train_images.sum(dim=(0, 2, 3)) / (50000 * 32 * 32)
    assert means.tolist() == pytest.approx([125.31, 122.95, 113.87], abs=0.01)
    assert found.train_labels[:5].tolist() == [6, 9, 9, 4, 1]


def test_fashion_mnist():
    folder_of("fashion-mnist")
    found = data.load("fashion-mnist")
    assert found.train_images.shape == (60000, 1, 28, 28)
    assert found.test_labels.bincount().tolist() == [1000] * 10
    assert found.train_images.float().mean().item() == pytest.approx(72.94, abs=0.01)


def test_fashion_mnist_content_md5_are_those_of_the_official_files():
    """A distribution strips name and time from a .gz header; put back, the file is the official one to the byte."""
    folder = folder_of("fashion-mnist")
    written = {"train": 1504176606, "t10k": 1504176627}
    for file in SOURCES["fashion-mnist"].files:
        raw = (folder / file.name).read_bytes()
        if not raw[3] & 8:  # bit 3: the header holds a file name
            time = struct.pack("<I", written[file.name.split("-")[0]])
            raw = raw[:3] + b"\x08" + time + raw[8:10] + file.name.removesuffix(".gz").encode() + b"\0" + raw[10:]
        assert md5(raw) == file.md5


def test_kmnist_even_when_cut():
    folder = folder_of("kmnist")
    names = {file.name: file for file in SOURCES["kmnist"].files}
    whole = md5((folder / "train-images-idx3-ubyte.gz").read_bytes()) == names["train-images-idx3-ubyte.gz"].md5
    if whole:
        assert len(data.load("kmnist").train_labels) == 60000
        return
    with pytest.raises(DataError, match=r"train-images.*train-labels"):
        data.load("kmnist")
    with pytest.warns(data.UnverifiedDataWarning):
        found = data.load("kmnist", allow_unverified=True)
    assert len(found.train_images) == len(found.train_labels) > 5000
    assert found.test_labels.bincount().tolist() == [1000] * 10
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        assert found.files[name] == names[name].md5
