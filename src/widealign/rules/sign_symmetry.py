"""Sign symmetry (Liao et al., 2016; Moskovitz et al., 2018): feedback knows the signs of the live weights only.

B = sign(W(t)) ⊙ M ,   M a magnitude that each of the three rules chooses in its own way
"""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from widealign.graph import Site, Sites, Snapshot
from widealign.rules import draws
from widealign.rules.chained import Chained


class SignSymmetry(Chained):
    """Chained feedback with the signs of the live weights."""

    def __init__(self, model: nn.Module, *, sites: Sites = None):
        super().__init__(model, sites=sites)
        matrices = {name: p for name, p in model.named_parameters() if draws.is_matrix(p)}
        self.scale = Snapshot(
            {name: torch.tensor(draws.scale(p), dtype=p.dtype, device=p.device) for name, p in matrices.items()}
        )

    @abstractmethod
    def magnitude(self, name: str, weight: Tensor, scale: Tensor) -> Tensor:
        """M for one weight, whose initial root mean square is `scale`."""

    def substitutes(self) -> dict[str, Tensor]:
        """sign(W(t)) ⊙ M for weights; gains and biases as they are."""
        scale = self.scale.values()
        return {
            name: p.detach().sign() * self.magnitude(name, p, scale[name]) if name in scale else p.detach()
            for name, p in self.model.named_parameters()
        }

    def describe(self, site: Site) -> tuple[str, str]:
        """Live signs on the live path."""
        return f"signs of the live weights downstream, {self.axes.feedback.partition(', ')[2]}", "live"
