"""The baseline of figure 8: what score remains when a layer's trained weights are shuffled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from widealign.alignment.probes import Estimate
from widealign.alignment.scores import same_shape, score
from widealign.errors import UsageError


class Baseline(NamedTuple):
    """Mean over permutations and their standard deviation."""

    mean: float
    spread: float


def score_permuted(
    weight: Any,
    weight_initial: Any,
    delta_w_star: Any,
    *,
    permutations: int = 10,
    of: Callable[[Tensor, Tensor], float | Estimate] = score,
    shuffle: Callable[[Tensor], Tensor] | None = None,
    generator: torch.Generator | None = None,
) -> Baseline:
    """Mean and spread of the score of P[W(t)] - W(0) over random permutations P of all entries of the layer.

    As in the authors' scripts it is W(t) that is shuffled, before W(0) is subtracted: the change then is almost
    -W(0) + (an independent Gaussian matrix), and what is left of the score is that of random matrices of this shape.

    Args:
        weight: W(t).
        weight_initial: W(0).
        delta_w_star: W* - W(0).
        permutations: How many.
        of: The score to take, `score` or a probe estimate.
        shuffle: Permutes the entries of a weight; by default at random with `generator`.
        generator: Source of the permutations; it decides their device.

    Example:
        >>> initial, change = torch.randn(32, 16), 0.1 * torch.randn(32, 1) * torch.randn(16)
        >>> baseline = score_permuted(initial + change, initial, change)
        >>> score(change, change) > 2 * baseline.mean
        True
    """
    if permutations < 1:
        raise UsageError(f"permutations= must be 1 or more; it is {permutations}.")
    now, then = (w.detach() for w in same_shape(weight, weight_initial))
    values = torch.empty(permutations, dtype=torch.float64)
    for i in range(permutations):
        shuffled = _shuffled(now, generator) if shuffle is None else shuffle(now)
        found = of(shuffled - then, delta_w_star)
        values[i] = found.value if isinstance(found, Estimate) else found
    return Baseline(values.mean().item(), values.std(correction=1).item() if permutations > 1 else 0.0)


def _shuffled(weight: Tensor, generator: torch.Generator | None) -> Tensor:
    device = generator.device if generator is not None else weight.device
    order = torch.randperm(weight.numel(), generator=generator, device=device).to(weight.device)
    return weight.flatten()[order].view_as(weight)
