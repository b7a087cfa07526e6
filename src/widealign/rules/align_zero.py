"""Align-zero."""

from widealign.graph import Site
from widealign.rules.anchored import Anchored
from widealign.rules.learner import Axes


class AlignZero(Anchored, id="align-zero"):
    """Initial feedback and initial activity; only the error is live.

        s_l = J_l(θ_0)^T e,   ΔW_l = -η s_l h_{l-1}(θ_0)^T

    J_l(θ_0) is the initial network's Jacobian of the output by site l's output, on the same mini-batch. The last layer
    learns from initial activity, too.
    """

    axes = Axes(feedback="initial", gate="initial", normaliser="initial", activity="initial")

    kept_forms = ("jacobian",)

    def describe(self, site: Site) -> tuple[str, str]:
        """Everything is initial."""
        return "initial weights downstream, transposed", "initial"
