"""The idx format of MNIST and its kin, gzipped: a big-endian header, then one byte a pixel or label.

byte 0   magic number 0x00000800 + number of dimensions (08: unsigned bytes)
byte 4   length of each dimension, 4 bytes each
then     the values, last dimension fastest
"""

import struct
from pathlib import Path

import torch
from torch import Tensor

from widealign.data.gunzip import damaged
from widealign.data.labels import require_labels


def idx_images(content: bytes, path: Path, height: int, width: int) -> Tensor:
    """Read images of a known size.

    Args:
        content: the decompressed file.
        path: its path, for messages.
        height: rows of each image.
        width: columns of each image.

    Returns:
        uint8, shape (N, 1, height, width).

    Raises:
        DataError: wrong magic number, wrong image size, too few or too many bytes, or no image at all.
    """
    count, rows, columns = _header(content, path, dimensions=3)
    for offset, name, got, want in ((8, "rows", rows, height), (12, "columns", columns, width)):
        if got != want:
            raise damaged(path, f"expected {want} {name} at byte {offset} of the decompressed content, got {got}")
    return _values(content, path, header=16, count=count, size=height * width).view(count, 1, height, width)


def idx_labels(content: bytes, path: Path, num_classes: int) -> Tensor:
    """Read labels, each below `num_classes`. Returns int64, shape (N,).

    Raises:
        DataError: wrong magic number, too few or too many bytes, no label at all, or a label out of range.
    """
    (count,) = _header(content, path, dimensions=1)
    labels = _values(content, path, header=8, count=count, size=1)
    require_labels(labels, num_classes, path, first_byte=8, stride=1)
    return labels.long()


def _header(content: bytes, path: Path, dimensions: int) -> tuple[int, ...]:
    length = 4 + 4 * dimensions
    if len(content) < length:
        raise damaged(path, f"short file: the header needs {length} bytes, the content ends at byte {len(content)}")
    magic, *lengths = struct.unpack_from(f">{1 + dimensions}I", content)
    expected = 0x800 + dimensions
    if magic != expected:
        raise damaged(path, f"wrong magic number at byte 0: expected 0x{expected:08x}, got 0x{magic:08x}")
    return tuple(lengths)


def _values(content: bytes, path: Path, *, header: int, count: int, size: int) -> Tensor:
    if count == 0:
        raise damaged(path, "the count at byte 4 is 0: the file holds nothing")
    end = header + count * size
    if len(content) < end:
        raise damaged(
            path,
            f"short file: the count at byte 4 promises {count} entries, {end} bytes with the header, "
            f"but the decompressed content ends at byte {len(content)}",
        )
    if len(content) > end:
        raise damaged(path, f"{len(content) - end} bytes too many: {count} entries end at byte {end}")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=header)
