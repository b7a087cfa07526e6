"""The alignment score estimated with Gaussian probes, as the paper writes it and as its scripts run it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from widealign.alignment.on_images import Images, require_kernel
from widealign.alignment.scores import as_matrix, same_shape, undefined
from widealign.errors import UsageError

Operator = Callable[[Tensor, Tensor], Tensor]


class Estimate(NamedTuple):
    """A mean and the standard error of that mean."""

    value: float
    error: float


def score_probe(
    delta_w: Any,
    delta_w_star: Any,
    *,
    images: Images | None = None,
    rounds: int = 100,
    probes: int = 100,
    tolerance: float = 0.0,
    generator: torch.Generator | None = None,
    layer: str = "",
) -> Estimate:
    """Equation 13 by Gaussian probes x: tr(Δ Σ) = E[(Δ x)·(Σ x)].

        S ≈ Σ_r a_r·b_r / sqrt(Σ_r a_r·a_r  Σ_r b_r·b_r),   a_r = Δ x_r,  b_r = Σ x_r

    Without `images`, x are vectors of the fan-in and the estimate converges to `score`. With `images`, x are Gaussian
    images and Δ acts as a convolution with ΔW followed by the transposed convolution: what the authors' scripts
    measure. It is another number than `score`, since neighbouring patches of an image overlap; and as in the scripts
    a_r and b_r are divided by their mean absolute value in every round, which for few probes biases the estimate.

    Args:
        delta_w: W(t) - W(0).
        delta_w_star: The same of the companion.
        images: Size of the layer's input, for image probes of a kernel (out, in, k, k).
        rounds: Largest number of rounds.
        probes: Probes a round.
        tolerance: Stop before `rounds` once the standard error is below this (never before the fifth round).
        generator: Source of the probes; it decides their device.
        layer: Name for messages.

    Returns:
        The estimate and its standard error (jackknife over rounds); both `nan`, with a warning, where one of the
        changes is zero.

    Example:
        >>> from widealign.alignment import score
        >>> a, b = torch.randn(16, 9), torch.randn(16, 9)
        >>> estimate = score_probe(a, b, generator=torch.Generator().manual_seed(0))
        >>> abs(estimate.value - score(a, b)) < 5 * estimate.error
        True
    """
    if rounds < 2:
        raise UsageError(f"rounds= must be 2 or more, for a standard error; it is {rounds}.")
    a, b = same_shape(delta_w, delta_w_star, layer)
    if images is None:
        a, b = as_matrix(a), as_matrix(b)
    else:
        require_kernel(a.shape)
    if not (a.any() and b.any()):
        return Estimate(undefined(layer), math.nan)
    a, b = a / a.abs().max(), b / b.abs().max()
    shape = (a.shape[1],) if images is None else (a.shape[1], images.height, images.width)
    apply = _apply_matrix if images is None else _apply_images(images)
    sums: list[Tensor] = []
    estimate = Estimate(math.nan, math.nan)
    for r in range(rounds):
        x = torch.randn(probes, *shape, generator=generator, dtype=a.dtype, device=_device(generator)).to(a)
        products = _products(apply(x, a), apply(x, b), normalised=images is not None)
        sums.append(products)
        if r == rounds - 1 or (tolerance > 0 and r >= 4):
            estimate = _jackknife(torch.stack(sums))
            if estimate.error < tolerance:
                break
    return estimate


def _device(generator: torch.Generator | None) -> torch.device | None:
    return generator.device if generator is not None else None


def _apply_matrix(x: Tensor, weight: Tensor) -> Tensor:
    return x @ weight.mT @ weight


def _apply_images(images: Images) -> Operator:
    return lambda x, kernel: images.back(images.forward(x, kernel), kernel)


def _products(a: Tensor, b: Tensor, *, normalised: bool) -> Tensor:
    a, b = a.double(), b.double()
    if normalised:
        a, b = a / a.abs().mean(), b / b.abs().mean()
    return torch.stack([(a * b).sum(), a.square().sum(), b.square().sum()])


def _jackknife(sums: Tensor) -> Estimate:
    """Of the ratio of sums over rounds, each round left out in turn."""
    n = len(sums)
    without = _ratio(sums.sum(0) - sums)
    error = ((n - 1) / n * (without - without.mean()).square().sum()).sqrt()
    return Estimate(_ratio(sums.sum(0)).item(), error.item())


def _ratio(sums: Tensor) -> Tensor:
    return sums[..., 0] / (sums[..., 1] * sums[..., 2]).sqrt()
