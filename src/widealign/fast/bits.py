"""Signs, eight to a byte."""

import torch
from torch import Tensor

_PLACES = torch.arange(8, dtype=torch.uint8)


def pack(positive: Tensor) -> Tensor:
    """(examples, ...) of bools to (examples, bytes); the last byte is filled up with zeros."""
    flat = positive.flatten(1)
    padded = torch.nn.functional.pad(flat.to(torch.uint8), (0, -flat.shape[1] % 8))
    return (padded.unflatten(1, (-1, 8)) << _PLACES.to(flat.device)).sum(-1, dtype=torch.uint8)


def unpack(packed: Tensor, features: int, dtype: torch.dtype) -> Tensor:
    """(examples, bytes) to (examples, features) of zeros and ones: a row of a table for each byte."""
    numbers = torch.arange(256, device=packed.device)
    table = ((numbers[:, None] >> _PLACES.to(packed.device)) & 1).to(dtype)
    return table.index_select(0, packed.flatten().int()).view(len(packed), -1)[:, :features]
