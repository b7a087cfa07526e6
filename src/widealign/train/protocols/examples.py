"""Examples of each kind of data: where batches come from, and what the loss compares the output with."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from widealign.data import CHANNEL_MEAN, CHANNEL_STD, EvaluationImages, InMemory, TrainImages, image_batches
from widealign.train.trial import Batch

_FEW_IMAGES = 1000  # starting worker processes takes longer than decoding these


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredImages:
    """Images that stay on the device. `targets` has one row a class; None where the loss takes labels."""

    images: InMemory
    targets: Tensor | None

    def __len__(self) -> int:
        return len(self.images)

    def batches(self, order: Tensor, batch_size: int, *, epoch: int = 0, first: int = 0) -> Iterator[Batch]:
        """Gathered on the device."""
        for begin in range(first * batch_size, len(order), batch_size):
            inputs, labels = self.images.batch(order[begin : begin + batch_size])
            yield Batch(inputs, labels if self.targets is None else self.targets.index_select(0, labels), labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequences:
    """Sequences of numbers and what to answer to them, both of shape (sequences, time steps)."""

    inputs: Tensor
    answers: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def batches(self, order: Tensor, batch_size: int, *, epoch: int = 0, first: int = 0) -> Iterator[Batch]:
        """Rows by index."""
        for begin in range(first * batch_size, len(order), batch_size):
            rows = order[begin : begin + batch_size].to(self.inputs.device)
            yield Batch(self.inputs.index_select(0, rows), self.answers.index_select(0, rows), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodedImages:
    """Images read from their files batch by batch, with normalised channels. `indices` says which of the files."""

    images: TrainImages | EvaluationImages
    indices: Tensor
    targets: Tensor | None
    device: torch.device

    def __len__(self) -> int:
        return len(self.indices)

    def batches(self, order: Tensor, batch_size: int, *, epoch: int = 0, first: int = 0) -> Iterator[Batch]:
        """Decoded by worker processes when there are many."""
        images = replace(self.images, epoch=epoch) if isinstance(self.images, TrainImages) else self.images
        workers = (os.cpu_count() or 1) if len(self) >= _FEW_IMAGES else 0
        mean, std = (torch.tensor(c, device=self.device).view(3, 1, 1) for c in (CHANNEL_MEAN, CHANNEL_STD))
        files = self.indices[order.cpu()].tolist()
        loaded = image_batches(images, files, batch_size=batch_size, workers=workers, first_batch=first)
        for pixels, classes in loaded:
            labels = classes.to(self.device)
            inputs = (pixels.to(self.device).float() / 255 - mean) / std
            yield Batch(inputs, labels if self.targets is None else self.targets[labels], labels)


def class_targets(num_classes: int, *, shift: float, loss: str, device: torch.device) -> Tensor | None:
    """One-hot rows minus `shift`, one a class; None under cross entropy, which takes labels."""
    return torch.eye(num_classes, device=device) - shift if loss == "mse" else None
