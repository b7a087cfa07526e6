"""Batchwise random-magnitude sign-concordant feedback."""

from typing import Any

import torch
from torch import Tensor, nn

from widealign.graph import Sites
from widealign.rules import draws
from widealign.rules.learner import Axes
from widealign.rules.sign_symmetry import SignSymmetry


class BRSF(SignSymmetry, id="brsf"):
    """B = sign(W(t)) ⊙ |R_t|,  R_t ~ N(0, s²) redrawn at every training pass.

    Args:
        model: Any module.
        sites: Where parameters learn.
        seed: Decides R_t.
    """

    axes = Axes(feedback="sign of live, magnitudes redrawn each step", gate="live", normaliser="live", activity="live")

    def __init__(self, model: nn.Module, *, sites: Sites = None, seed: int = 0):
        super().__init__(model, sites=sites)
        self.seed, self.passes = int(seed), 0
        self.drawn: dict[str, Tensor] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As every learner's, with the next R_t."""
        if self.will_learn():
            self._redraw()
        return super().forward(*args, **kwargs)

    def magnitude(self, name: str, weight: Tensor, scale: Tensor) -> Tensor:
        """M = |R_t|."""
        drawn = self.drawn.get(name)
        return (self._draw(name, weight, self.passes + 1) if drawn is None else drawn) * scale

    @torch.compiler.disable
    def _redraw(self) -> None:
        self.passes += 1
        for name, weight in self.model.named_parameters():
            if draws.is_matrix(weight):
                self.drawn[name] = self._draw(name, weight, self.passes)

    def _draw(self, name: str, weight: Tensor, number: int) -> Tensor:
        return draws.normal(weight.shape, self.seed, name, number).abs().to(weight)

    def get_extra_state(self) -> dict[str, int]:
        """Which draw comes next."""
        return {"seed": self.seed, "passes": self.passes}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Restores which draw comes next."""
        self.seed, self.passes = state["seed"], state["passes"]
