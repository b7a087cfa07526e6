"""CIFAR-10's *binary* batches: records of one label byte and 3 x 32 x 32 pixel bytes. Never a pickle."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from widealign.data.labels import require_labels
from widealign.errors import DataError


def cifar_batch(content: bytes, path: Path, shape: tuple[int, int, int], num_classes: int) -> tuple[Tensor, Tensor]:
    """Read one batch file.

    Args:
        content: the file.
        path: its path, for messages.
        shape: channels, height, width of an image.
        num_classes: labels are below it.

    Returns:
        images, uint8 of shape (N, *shape), and labels, int64 of shape (N,).

    Raises:
        DataError: no record, an incomplete record, or a label out of range; names the byte.
    """
    channels, height, width = shape
    record = 1 + channels * height * width
    count, rest = divmod(len(content), record)
    if rest or not count:
        raise DataError(
            f"{path}: short file: {len(content)} bytes are not a whole number of records of {record} bytes; the record "
            f"that begins at byte {count * record} has {rest}. The file is cut or damaged: fetch it again"
        )
    records = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(count, record)
    require_labels(records[:, 0], num_classes, path, first_byte=0, stride=record)
    return records[:, 1:].contiguous().view(count, *shape), records[:, 0].long()


def join(batches: Mapping[str, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Append batches in the order given."""
    images, labels = zip(*batches.values(), strict=True)
    return torch.cat(images), torch.cat(labels)
