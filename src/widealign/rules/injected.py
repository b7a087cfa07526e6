"""Injected rules: every site's input is cut off, and a teaching signal computed elsewhere is injected at its output.

The update of a site is then  (∂F_l/∂θ_l at live θ_l and live h_{l-1})^T s_l , with no walk back through the network.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from widealign.errors import UsageError
from widealign.graph import Pass, detached, graft_tree, map_signals

Tap = Callable[[str, Tensor], Tensor]


class CutPass(Pass):
    """Cuts every site's inputs off, so that a site hears only of errors that reach it past no other site.

    Args:
        tap: Is shown each input that is cut and leads back to a site, with the name of the site that it enters.
    """

    cuts = True

    def __init__(self, tap: Callable[[str, Tensor], None] | None = None):
        self.tap = tap

    def enter(self, site: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Hands the inputs on without their graphs."""

        def cut(entering: Tensor) -> Tensor:
            if self.tap is not None and entering.requires_grad:
                self.tap(site, entering)
            return entering.detach()

        return map_signals(cut, (args, kwargs))


class LivePass(CutPass):
    """The live network, kept as one separate piece of graph a site call."""

    def __init__(self) -> None:
        super().__init__()
        self.outputs: dict[str, list[Any]] = defaultdict(list)

    def leave(self, site: str, output: Any) -> Any:
        """Keeps the output with its graph, and hands on its value."""
        self.outputs[site].append(output)
        return detached(output)


class FrozenPass(Pass):
    """The initial network, whose site outputs pass the gradient on that reaches them to the live site's output.

    Calls of a site in the two passes pair up by order. A site named in `taught_at_reentry` is taught by the gradient
    that enters its next call, not by all that its output causes.
    """

    def __init__(self, live: Mapping[str, list[Any]], taught_at_reentry: frozenset[str] = frozenset()):
        self.live = live
        self.reentry = taught_at_reentry
        self.calls: dict[str, int] = defaultdict(int)

    def ended(self) -> None:
        """All calls of the live network must have found their twin, or they would not learn."""
        for site, calls in self.live.items():
            if self.calls[site] < len(calls):
                raise UsageError(_not_alike(site, "less"))

    def enter(self, site: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Teaches a recurrent site through its state, the first input, when that comes back to it."""
        if site in self.reentry and self.calls[site]:
            args = (self._taught(site, args[0], self.calls[site] - 1), *args[1:])
        return args, kwargs

    def leave(self, site: str, output: Any) -> Any:
        """Lets the live site hear the gradient at its twin's output."""
        call = self.calls[site]
        self.calls[site] += 1
        return output if site in self.reentry else self._taught(site, output, call)

    def _taught(self, site: str, frozen: Any, call: int) -> Any:
        if call >= len(self.live[site]):
            raise UsageError(_not_alike(site, "more"))
        return graft_tree(frozen, frozen, self.live[site][call])


def _not_alike(site: str, how: str) -> str:
    return (
        f"'{site}' is called {how} often in the initial network than in the live one. If weights decide what is called "
        "(routing, early exit), name the module that holds that part in sites=. If chance does (a random depth), draw "
        "it with torch, whose generators are put back for the second pass."
    )
