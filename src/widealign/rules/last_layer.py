"""Last layer, also called readout only."""

from typing import Any

from widealign.graph import Site
from widealign.rules.injected import CutPass
from widealign.rules.learner import Axes, Learner


class LastLayer(Learner, id="last-layer"):
    """Only the readout learns:  s_N = e, s_l = 0 below.

    A readout is a site from whose output the model's output is reached past no other site. The parameters of the
    other sites get no gradient (None), so that an optimizer leaves them alone.
    """

    axes = Axes(feedback="none", gate="-", normaliser="-", activity="live")

    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """The live pass with every site's inputs cut off."""
        return self.run(CutPass(), self.model, *args, **kwargs)

    def replays(self) -> bool:
        """One pass is enough."""
        return False

    def describe(self, site: Site) -> tuple[str, str]:
        """Nothing but what reaches the site directly."""
        return "none; the output error itself where it arrives past no other site", "live"
