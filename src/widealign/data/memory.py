"""Images that fit in memory, as bytes on the device; batches are gathered there."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


class InMemory:
    """Images and labels that stay on the device as they are, one byte a pixel, and give batches by index.

    Example:
        >>> images = torch.tensor([0, 51, 255], dtype=torch.uint8).view(3, 1, 1, 1)
        >>> stored = InMemory(images, torch.tensor([0, 1, 2]), "cpu")
        >>> inputs, labels = stored.batch([2, 1])
        >>> inputs.flatten().tolist(), labels.tolist()
        ([1.0, 0.20000000298023224], [2, 1])
    """

    def __init__(self, images: Tensor, labels: Tensor, device: torch.device | str, dtype: torch.dtype = torch.float32):
        """Move both to the device.

        Args:
            images: uint8, shape (N, channels, height, width).
            labels: int64, shape (N,).
            device: where they live, and where batches come out.
            dtype: of the inputs a batch gives.
        """
        self.images = images.to(device)
        self.labels = labels.to(device)
        # A tensor on the device, not a number: CUDA divides by a number as a product with its rounded reciprocal.
        self._white = torch.tensor(255, dtype=dtype, device=device)

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, indices: Tensor | np.ndarray | Sequence[int]) -> tuple[Tensor, Tensor]:
        """Inputs, pixels / 255 in [0, 1], and labels of the examples at `indices`, in that order."""
        where = torch.as_tensor(indices, dtype=torch.int64, device=self.images.device)
        pixels = self.images.index_select(0, where)
        return pixels.to(self._white.dtype).div_(self._white), self.labels.index_select(0, where)
