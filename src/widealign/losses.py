"""Losses as the paper writes them."""

from torch import Tensor


def mse(output: Tensor, target: Tensor) -> Tensor:
    """Mean over the batch and the outputs of (f - y)^2."""
    return (output - target).square().mean()
