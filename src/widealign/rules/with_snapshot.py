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
        if refresh is not None and (type(refresh) is not int or refresh < 1):
            raise UsageError(
                f"refresh= is a whole number of training passes, 1 or more, or None for never; it is {refresh!r}."
            )
        super().__init__(model, sites=sites)
        self.refresh_every, self.passes = refresh, 0
        self.initial = Snapshot(self._parameters_now())

    def refresh(self) -> None:
        """Takes the snapshot anew: from now on the present weights are the initial ones."""
        self.initial.take(self._parameters_now())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As every learner's, after a refresh that is due."""
        if self.will_learn():
            if not torch.compiler.is_compiling():
                self._require_company()
            if self.refresh_every is not None:
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

    def _require_company(self) -> None:
        """A model that was moved or converted by itself has left its initial weights behind."""
        for name, parameter in self.model.named_parameters():
            initial = self.initial.values().get(name)
            if initial is not None:
                if (initial.device, initial.dtype) == (parameter.device, parameter.dtype):
                    return
                raise UsageError(
                    f"The model is on {parameter.device} in {parameter.dtype}, and the initial weights that "
                    f"{type(self).__name__} remembers are on {initial.device} in {initial.dtype}: call .to() on the "
                    "learner, not on the model, or wrap the model afterwards."
                )

    def _parameters_now(self) -> dict[str, Tensor]:
        inputs = input_parameters(self.model)
        return {name: p for name, p in self.model.named_parameters() if id(p) not in inputs}
