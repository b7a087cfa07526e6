"""The direction in which backpropagation would have gone, for passes that a rule has learned from."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from widealign.alignment.capture import Taught
from widealign.alignment.layers import cosine
from widealign.graph import Replayed, replay, signals
from widealign.rules import Learner, learner_of


def backprop_gradients(
    model: nn.Module, parameters: Mapping[str, Tensor], taught: Sequence[Taught]
) -> dict[str, Tensor]:
    """Backpropagation's gradient for the same inputs, weights, dropout masks and output errors.

    Weights that were not kept with a pass are the present ones.
    """
    total: dict[str, Tensor] = {}
    for given, errors in taught:
        live = {name: p.detach().requires_grad_() for name, p in (given.weights or parameters).items()}
        with torch.enable_grad(), given.replayed:
            outputs = [o for o in signals(replay(model, live, given.args, given.kwargs)) if o.requires_grad]
        pairs = [(o, e.to(o)) for o, e in zip(outputs, errors, strict=True) if e is not None]
        gradients = torch.autograd.grad(
            [o for o, _ in pairs], list(live.values()), [e for _, e in pairs], allow_unused=True
        )
        for name, gradient in zip(live, gradients, strict=True):
            if gradient is not None:
                total[name] = total[name] + gradient if name in total else gradient
    return total


def update_cosines(learner: nn.Module, *args: Any, **kwargs: Any) -> dict[str, float]:
    """Cosine of a rule's update with backpropagation's for one random error at the output, by the weight's name.

    Taken on a copy of the learner: nothing in it counts the pass. Empty for a plain model.
    """
    if not isinstance(learner_of(learner), Learner):
        return {}
    copied: Any = copy.deepcopy(learner_of(learner)).train()
    if getattr(getattr(copied, "cache", None), "on", False):
        return {}  # such a learner wants the numbers of the examples
    with torch.random.fork_rng(), torch.enable_grad():
        replayed = Replayed(copied.model)
        ours = _answers(copied, copied(*args, **kwargs))
        with replayed:
            backprop = _answers(copied, copied.model(*args, **kwargs))
    return {name: cosine(ours[name], backprop[name]) for name in ours.keys() & backprop.keys()}


def _answers(learner: Any, output: Any) -> dict[str, Tensor]:
    """Gradients of the weights for Gaussian errors, the same ones at each call."""
    generator = torch.Generator().manual_seed(0)
    outputs = [leaf for leaf in signals(output) if leaf.requires_grad]
    errors = [torch.randn(leaf.shape, generator=generator).to(leaf) for leaf in outputs]
    weights = {name: p for name, p in learner.model.named_parameters() if p.ndim >= 2 and p.requires_grad}
    found = torch.autograd.grad(outputs, list(weights.values()), errors, allow_unused=True) if weights else ()
    return {name: gradient for name, gradient in zip(weights, found, strict=True) if gradient is not None}
