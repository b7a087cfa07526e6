"""How images lie in memory: gradients that lie otherwise than the activities cost copies."""

from collections.abc import Sequence

import torch
from torch import Tensor


def is_channels_last(tensor: Tensor) -> bool:
    """Whether the channels of a location lie together, and could lie otherwise."""
    return tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()


def blank(shape: Sequence[int], like: Tensor) -> Tensor:
    """Memory that nobody has written to, of some shape and in the layout of `like`."""
    layout = torch.channels_last if len(shape) == 4 and is_channels_last(like) else torch.contiguous_format
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=layout)
