"""Align-prop."""

from torch import Tensor

from widealign.graph import Site
from widealign.rules.chained import Chained
from widealign.rules.learner import Axes
from widealign.rules.with_snapshot import WithSnapshot


class AlignProp(Chained, WithSnapshot, id="align-prop"):
    """Backpropagation with the initial weights in the backward pass.

    s_l = σ'(z_l(θ_t)) ⊙ W_{l+1}(0)^T s_{l+1},   ΔW_l = -η s_l h_{l-1}(θ_t)^T
    """

    axes = Axes(feedback="initial", gate="live", normaliser="live", activity="live")

    def substitutes(self) -> dict[str, Tensor]:
        """B = W(0)."""
        return self.initial.values()

    def describe(self, site: Site) -> tuple[str, str]:
        """Initial weights on the live path."""
        return "initial weights downstream, transposed, through live gates", "live"
