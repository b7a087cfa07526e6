"""Rules that remember the initial network."""

from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.graph import Sites, Snapshot, input_parameters
from widealign.rules.learner import Learner


class WithSnapshot(Learner):
    """A rule with the initial parameters θ0 as buffers.

    Args:
        model: Any module; its parameters now are the initial ones.
        sites: Where parameters learn.
        refresh: Take the snapshot anew before every `refresh`-th training forward pass: weights are transported, but
            rarely. With 1 the rule is backpropagation; with None (the default) the first snapshot stays for ever.
    """

    def __init__(self, model: nn.Module, *, sites: Sites = None, refresh: int | None = None):
        if refresh is not None and refresh < 1:
            raise UsageError(f"refresh= is a number of training passes, 1 or more, or None for never; it is {refresh}.")
        super().__init__(model, sites=sites)
        self.refresh_every, self.passes = refresh, 0
        self.initial = Snapshot(self._parameters_now())

    def refresh(self) -> None:
        """Takes the snapshot anew: from now on the present weights are the initial ones."""
        self.initial.take(self._parameters_now())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As every learner's, after a refresh that is due."""
        if self.refresh_every is not None and self.will_learn():
            self._count(self.refresh_every)
        return super().forward(*args, **kwargs)

    def get_extra_state(self) -> dict[str, int]:
        """The number of training passes, for the next refresh to come in time."""
        return {"passes": self.passes}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Restores the number of training passes."""
        self.passes = state["passes"]

    @torch.compiler.disable
    def _count(self, every: int) -> None:
        if self.passes and self.passes % every == 0:
            self.refresh()
        self.passes += 1

    def _parameters_now(self) -> dict[str, Tensor]:
        inputs = input_parameters(self.model)
        return {name: p for name, p in self.model.named_parameters() if id(p) not in inputs}
