"""Random feedback that depends on a seed and a name only: the same on every device, in every process."""

import hashlib
import math

import torch
from torch import Tensor


def normal(shape: torch.Size | tuple[int, ...], seed: int, *labels: object) -> Tensor:
    """Standard normal numbers, drawn on the CPU by a generator of their own."""
    digest = hashlib.sha256(repr((int(seed), *labels)).encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return torch.randn(shape, generator=generator, device="cpu", dtype=torch.float32)


def scale(weight: Tensor) -> float:
    """The root mean square of a weight, 1/sqrt(fan-in) if it is all zero: the size of feedback that replaces it."""
    rms = weight.detach().double().square().mean().sqrt().item()
    return rms or 1 / math.sqrt(max(1, weight[0].numel()))


def is_matrix(parameter: Tensor) -> bool:
    """Whether a parameter mixes units. Gains and biases do not: feedback rules leave them as they are."""
    return parameter.dim() >= 2
