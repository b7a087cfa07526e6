"""Batches of an image folder in an order the caller gives, decoded by worker processes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from widealign.data.crops import centre_crop, random_crop, to_tensor
from widealign.data.decode import Decoder, read_image
from widealign.data.folders import ImageList
from widealign.errors import DataError


@dataclass(frozen=True, kw_only=True)
class TrainImages(Dataset[tuple[Tensor, int]]):
    """Random crops of one epoch: uint8 of shape (3, size, size), and the label.

    The crop of an example is a function of (seed, epoch, index) alone.
    """

    images: ImageList
    seed: int
    epoch: int = 0
    size: int = 224
    decoder: Decoder = "auto"

    def at_epoch(self, epoch: int) -> Self:
        """The same images with another epoch's crops."""
        return replace(self, epoch=epoch)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = read_image(self.images.paths[index], self.decoder)
        return to_tensor(random_crop(image, self.size, self.seed, self.epoch, index)), self.images.labels[index]


@dataclass(frozen=True, kw_only=True)
class EvaluationImages(Dataset[tuple[Tensor, int]]):
    """Centre crops: uint8 of shape (3, size, size), and the label."""

    images: ImageList
    size: int = 224
    decoder: Decoder = "auto"

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = read_image(self.images.paths[index], self.decoder)
        return to_tensor(centre_crop(image, self.size)), self.images.labels[index]


def image_batches(
    dataset: Dataset[tuple[Tensor, int]],
    order: Sequence[int],
    *,
    batch_size: int,
    workers: int = 0,
    first_batch: int = 0,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of (uint8 images, int64 labels) that follow `order`; the last one may be smaller.

    An epoch broken off after k batches goes on, equal to the bit, with the same order and `first_batch=k`, whatever
    the number of workers. No random state but the dataset's own is used or moved.

    Args:
        dataset: gives (image, label) by index.
        order: indices, for example a permutation.
        batch_size: examples a batch.
        workers: processes that decode; 0 decodes in this one.
        first_batch: batches of `order` to skip.

    Raises:
        DataError: an image cannot be read.
    """
    indices = [int(index) for index in order]
    batches = [
        indices[start : start + batch_size] for start in range(first_batch * batch_size, len(indices), batch_size)
    ]
    loader = DataLoader(
        _Guarded(dataset),
        batch_sampler=batches,
        collate_fn=_collate,
        num_workers=workers,
        generator=torch.Generator(),  # otherwise the loader draws from the global generator
    )
    for batch in loader:
        if isinstance(batch, str):
            raise DataError(batch)
        yield batch


@dataclass(frozen=True)
class _Guarded(Dataset[tuple[Tensor, int] | str]):
    """An error travels as its message: the loader would wrap an exception in a worker's traceback."""

    dataset: Dataset[tuple[Tensor, int]]

    def __getitem__(self, index: int) -> tuple[Tensor, int] | str:
        try:
            return self.dataset[index]
        except DataError as error:
            return str(error)


def _collate(examples: list[tuple[Tensor, int] | str]) -> tuple[Tensor, Tensor] | str:
    for example in examples:
        if isinstance(example, str):
            return example
    images, labels = zip(*examples, strict=True)
    return torch.stack(images), torch.tensor(labels)
