"""Fixed random-magnitude sign-concordant feedback."""

from torch import Tensor, nn

from widealign.graph import Sites, Snapshot
from widealign.rules import draws
from widealign.rules.learner import Axes
from widealign.rules.sign_symmetry import SignSymmetry


class FRSF(SignSymmetry, id="frsf"):
    """B = sign(W(t)) ⊙ |R|,  R ~ N(0, s²) drawn once.

    Args:
        model: Any module.
        sites: Where parameters learn.
        seed: Decides R.
    """

    axes = Axes(feedback="sign of live, fixed random magnitudes", gate="live", normaliser="live", activity="live")

    def __init__(self, model: nn.Module, *, sites: Sites = None, seed: int = 0):
        super().__init__(model, sites=sites)
        parameters, scales = dict(model.named_parameters()), self.scale.values()
        self.magnitudes = Snapshot(
            {name: draws.normal(parameters[name].shape, seed, name).abs().to(s) * s for name, s in scales.items()}
        )

    def magnitude(self, name: str, weight: Tensor, scale: Tensor) -> Tensor:
        """M = |R|."""
        return self.magnitudes.values()[name]
