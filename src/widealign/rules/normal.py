"""Backpropagation: the baseline."""

from collections.abc import Iterator
from typing import Any

from widealign.graph import Site
from widealign.rules.learner import Axes, Learner


class Normal(Learner, id="normal"):
    """The ordinary gradient, by PyTorch itself:  s_l = J_l(θ_t)^T e, update s_l h_{l-1}^T."""

    axes = Axes(feedback="live", gate="live", normaliser="live", activity="live")
    hooked = False

    def problems(self) -> Iterator[str]:
        """Backpropagation trains everything that has an initialised parameter."""
        yield from (p for p in super().problems() if "no parameters" in p or "not initialised" in p)

    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """The model as it is."""
        return self.model(*args, **kwargs)

    forward = learn

    def describe(self, site: Site) -> tuple[str, str]:
        """Everything is live."""
        return "live weights downstream, transposed", "live"
