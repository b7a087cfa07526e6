"""Anchored rules: the initial network is evaluated at θ0 + (θ − sg θ), with sg the stop-gradient.

Its value is f0(x); its gradient is taken at the initial point and lands on the live parameters. The output has the
value of the live network, so e = ∂L/∂f is the live error:

    ∂L/∂θ := (∂f0/∂θ |_{θ0})^T e
"""

from typing import Any

import torch
from torch import nn

from widealign.fast import Mode
from widealign.graph import graft, graft_tree, replay
from widealign.rules.injected import LivePass
from widealign.rules.with_cache import WithCache


class Anchored(WithCache):
    """A rule whose whole update is taken at the initial point."""

    def __init__(self, model: nn.Module, *, cache: Mode = "none", **options: Any):
        self.hooked = cache != "none"
        super().__init__(model, cache=cache, **options)

    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """The live pass without a graph, then the initial network with one."""
        kept, replayed = self.kept((args, kwargs)), self.replayed()
        with torch.no_grad():
            live = self.model(*args, **kwargs)
        parameters = dict(self.model.named_parameters())
        anchored = {name: graft(initial, parameters[name]) for name, initial in self.initial.values().items()}
        with replayed, self.initial_network().normalising():
            if not self.cache.on:
                return graft_tree(live, replay(self.model, anchored, *kept))
            pieces = LivePass()
            self.run(pieces, replay, self.model, anchored, *kept)
            return self.taught(live, pieces.outputs, *kept)
