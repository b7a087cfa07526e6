"""Feedback alignment (Lillicrap et al., 2016)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.graph import Site, Sites, Snapshot
from widealign.rules import draws
from widealign.rules.chained import Chained
from widealign.rules.learner import Axes


class FA(Chained, id="fa"):
    """Backpropagation with fixed random weights in the backward pass.

        s_l = σ'(z_l) ⊙ B_{l+1}^T s_{l+1},   B ~ N(0, s²) of the weight's shape, s the weight's initial scale

    Args:
        model: Any module.
        sites: Where parameters learn.
        seed: Decides B.
        feedback: B for some parameters, by name, in the place of a random one.
    """

    axes = Axes(feedback="fixed random", gate="live", normaliser="live", activity="live")

    def __init__(
        self, model: nn.Module, *, sites: Sites = None, seed: int = 0, feedback: Mapping[str, Tensor] | None = None
    ):
        super().__init__(model, sites=sites)
        given, parameters = dict(feedback or {}), dict(model.named_parameters())
        for name, tensor in given.items():
            if name not in parameters or parameters[name].shape != tensor.shape:
                shapes = {name: tuple(p.shape) for name, p in parameters.items()}
                raise UsageError(
                    f"feedback= holds a tensor for each parameter that it names, of its shape; {name!r} has shape "
                    f"{tuple(tensor.shape)}, the parameters are {shapes}."
                )
        matrices = {name: _draw(name, p, seed) for name, p in parameters.items() if draws.is_matrix(p)}
        self.random = Snapshot(matrices | given)

    def substitutes(self) -> dict[str, Tensor]:
        """B, fixed, for weights; gains and biases as they are."""
        return {name: p.detach() for name, p in self.model.named_parameters()} | self.random.values()

    def describe(self, site: Site) -> tuple[str, str]:
        """Random weights on the live path."""
        return "fixed random weights downstream, through live gates", "live"


def _draw(name: str, parameter: Tensor, seed: int) -> Tensor:
    drawn = draws.normal(parameter.shape, seed, name) * draws.scale(parameter)
    return torch.empty_like(parameter).copy_(drawn)  # in the memory layout of the weight: convolutions need one layout
