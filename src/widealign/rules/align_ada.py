"""Align-ada."""

from typing import Any

from widealign.graph import Site
from widealign.rules.injected import LivePass
from widealign.rules.learner import Axes
from widealign.rules.with_cache import WithCache


class AlignAda(WithCache, id="align-ada"):
    """Initial feedback, live activity.

        s_l = J_l(θ_0)^T e,   ΔW_l = -η s_l h_{l-1}(θ_t)^T

    J_l(θ_0) is the initial network's Jacobian of the output by site l's output, on the same mini-batch: initial
    weights, gates and normalisers downstream of l. Within the site, the live derivative is used.
    """

    axes = Axes(
        feedback="initial", gate="initial", normaliser="initial on the path, live in its own site", activity="live"
    )

    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """The live pass, then the initial network, in whose graph the live sites listen."""
        kept, replayed = self.kept((args, kwargs)), self.replayed()
        live = LivePass()
        output = self.run(live, self.model, *args, **kwargs)
        with replayed:
            return self.taught(output, live.outputs, *kept)

    def describe(self, site: Site) -> tuple[str, str]:
        """The initial network teaches, the live one is taught."""
        return "initial weights downstream, transposed", "live"
