"""The epoch that validation would choose, kept as it was: the test set needs to be looked at only there."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from widealign.train.record import better


class ChosenEpoch:
    """Weights of the epoch whose validation figure is the best so far; the first one where several are equal.

    With few training images and a large test set, evaluating every epoch on it would take most of a run's time.

    Args:
        model: The one that is trained.
        figure: What validation chooses by.
    """

    def __init__(self, model: nn.Module, figure: str):
        self.seen = 0
        self.epoch: int | None = None
        self._model, self._sign = model, 1 if better(figure) == "high" else -1
        self._best = float("-inf")
        self._weights: list[Tensor] = []

    def offer(self, validation: float | None) -> None:
        """Keep the epoch that has just ended, if it is the best one; called once an epoch, in their order."""
        self.seen += 1
        leads = validation is None or self._sign * validation > self._best
        if leads:
            self.epoch = self.seen
            self._best = float("-inf") if validation is None else self._sign * validation
            self._weights = [parameter.detach().clone() for parameter in self._model.parameters()]

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the model's weights with the kept ones; a second time puts them back."""
        for parameter, kept in zip(self._model.parameters(), self._weights, strict=True):
            now = parameter.clone()
            parameter.copy_(kept)
            kept.copy_(now)

    def state_dict(self) -> dict[str, Any]:
        """The weights, and whose they are."""
        return {"seen": self.seen, "best": self._best, "epoch": self.epoch, "weights": self._weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.seen, self._best, self.epoch = state["seen"], state["best"], state["epoch"]
        now = self._model.parameters()
        self._weights = [kept.to(parameter) for kept, parameter in zip(state["weights"], now, strict=False)]
