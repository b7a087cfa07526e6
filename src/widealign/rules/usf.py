"""Uniform sign-concordant feedback."""

from torch import Tensor

from widealign.rules.learner import Axes
from widealign.rules.sign_symmetry import SignSymmetry


class USF(SignSymmetry, id="usf"):
    """B = sign(W(t)) s, with s the root mean square of the initial weight."""

    axes = Axes(feedback="sign of live, initial scale", gate="live", normaliser="live", activity="live")

    def magnitude(self, name: str, weight: Tensor, scale: Tensor) -> Tensor:
        """M = s everywhere."""
        return scale
