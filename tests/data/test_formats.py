"""The idx and CIFAR parsers: round trips, and every kind of damage as a DataError that names file and byte."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from widealign.data.cifar import cifar_batch
from widealign.data.gunzip import gunzip
from widealign.data.idx import idx_images, idx_labels
from widealign.errors import DataError

from .builders import cifar_bytes, idx_bytes

pytestmark = pytest.mark.quick

FILE = Path("some-file.gz")
pixels = st.integers(0, 255)
shapes = st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
images_of_any_size = shapes.flatmap(lambda shape: arrays(np.uint8, shape, elements=pixels))
labels_below_10 = st.integers(1, 30).flatmap(lambda n: arrays(np.uint8, n, elements=st.integers(0, 9)))


@given(images_of_any_size)
def test_idx_images_come_back_as_written(values):
    images = idx_images(idx_bytes(values), FILE, *values.shape[1:])
    assert images.shape == (len(values), 1, *values.shape[1:])
    assert np.array_equal(images[:, 0].numpy(), values)


@given(labels_below_10)
def test_idx_labels_come_back_as_written(values):
    labels = idx_labels(idx_bytes(values), FILE, 10)
    assert labels.dtype.is_signed
    assert labels.tolist() == values.tolist()


@given(images_of_any_size, st.data())
def test_a_changed_idx_header_is_a_data_error(values, data):
    content = bytearray(idx_bytes(values))
    where = data.draw(st.integers(0, 15))
    content[where] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DataError, match=r"some-file\.gz.*byte"):
        idx_images(bytes(content), FILE, *values.shape[1:])


@given(images_of_any_size, st.data())
def test_a_cut_idx_file_is_a_data_error_that_names_its_end(values, data):
    content = idx_bytes(values)
    end = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DataError, match=rf"some-file\.gz: short file: .* ends at byte {end}\b"):
        idx_images(content[:end], FILE, *values.shape[1:])


@given(st.binary(max_size=64))
def test_any_bytes_are_labels_or_a_data_error(content):
    try:
        labels = idx_labels(content, FILE, 10)
    except DataError:
        return
    assert content[:4] == b"\0\0\x08\x01"
    assert len(labels) == len(content) - 8


def test_wrong_magic_number_says_expected_and_got():
    with pytest.raises(DataError, match=r"magic number at byte 0: expected 0x00000803, got 0x00000801"):
        idx_images(idx_bytes(np.zeros(20)), FILE, 28, 28)


def test_wrong_image_size_names_its_byte():
    with pytest.raises(DataError, match="expected 28 columns at byte 12 of the decompressed content, got 27"):
        idx_images(idx_bytes(np.zeros((2, 28, 27))), FILE, 28, 28)


def test_surplus_bytes_are_an_error():
    with pytest.raises(DataError, match="2 bytes too many: 3 entries end at byte 11"):
        idx_labels(idx_bytes(np.zeros(3)) + b"ab", FILE, 10)


def test_an_empty_idx_file_is_an_error():
    with pytest.raises(DataError, match="the count at byte 4 is 0"):
        idx_labels(idx_bytes(np.zeros(0)), FILE, 10)


def test_idx_label_out_of_range_names_its_byte():
    with pytest.raises(
        DataError, match=r"byte 10 of the decompressed content: example 2 has label 10, expected 0 to 9 \("
    ):
        idx_labels(idx_bytes(np.array([0, 9, 10, 3])), FILE, 10)


@given(st.binary(max_size=300_000), st.integers(1, 9))
@settings(max_examples=30)
def test_gunzip_gives_back_the_content(content, level):
    assert gunzip(gzip.compress(content, level), FILE) == content


def test_gunzip_gives_back_content_longer_than_one_chunk():
    content = np.random.RandomState(0).bytes(200_000)
    assert gunzip(gzip.compress(content), FILE) == content


@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_cut_gzip_is_a_data_error_that_names_its_end(content, data):
    raw = gzip.compress(content)
    end = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(DataError, match=f"cut short: it ends at byte {end}"):
        gunzip(raw[:end], FILE)


def test_gunzip_refuses_other_formats_damage_and_surplus():
    raw = gzip.compress(b"content" * 100)
    with pytest.raises(DataError, match=r"not readable as gzip between byte 0 and byte 9"):
        gunzip(b"not a gzip"[:9], FILE)
    with pytest.raises(DataError, match="not readable as gzip"):
        gunzip(raw[:-6] + b"\0\0" + raw[-4:], FILE)  # the checksum
    with pytest.raises(DataError, match=f"3 bytes follow the end of the compressed data at byte {len(raw)}"):
        gunzip(raw + b"abc", FILE)


records = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        arrays(np.uint8, (n, 3, 2, 2), elements=pixels), arrays(np.uint8, n, elements=st.integers(0, 9))
    )
)


@given(records)
def test_cifar_records_come_back_as_written(drawn):
    images, labels = cifar_batch(cifar_bytes(*drawn), FILE, (3, 2, 2), 10)
    assert np.array_equal(images.numpy(), drawn[0])
    assert labels.tolist() == drawn[1].tolist()
    assert images.is_contiguous()


@given(records, st.integers(1, 12))
def test_an_incomplete_cifar_record_is_a_data_error_that_names_its_start(drawn, missing):
    content = cifar_bytes(*drawn)
    start = len(content) - 13
    with pytest.raises(DataError, match=f"short file: .* the record that begins at byte {start} has {13 - missing}"):
        cifar_batch(content[:-missing], FILE, (3, 2, 2), 10)


def test_an_empty_cifar_file_is_an_error():
    with pytest.raises(DataError, match="short file: 0 bytes"):
        cifar_batch(b"", FILE, (3, 2, 2), 10)


def test_cifar_label_out_of_range_names_its_byte():
    content = cifar_bytes(np.zeros((3, 3, 2, 2)), np.array([0, 1, 77]))
    with pytest.raises(DataError, match="out of range at byte 26: example 2 has label 77"):
        cifar_batch(content, Path("data_batch_1.bin"), (3, 2, 2), 10)
