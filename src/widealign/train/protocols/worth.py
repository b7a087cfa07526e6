"""Which epochs are worth a look at the test set, when only those that can be reported are evaluated on it."""

from collections.abc import Mapping
from typing import Any

from widealign.train.record import better
from widealign.train.trial import Figures

NOT_TESTED: Figures = {"eval_loss": None, "eval_acc": None}


class Worth:
    """An epoch can be reported if validation is better than in every epoch before, or if it is the last one.

    Of 150 epochs that leaves about twenty: with few training images and a large test set, most of the time.

    Args:
        figure: What validation chooses by.
        epochs: How many there will be.
        always: Every epoch is worth it.
    """

    def __init__(self, figure: str, *, epochs: int, always: bool):
        self._sign = 1 if better(figure) == "high" else -1
        self._epochs, self._always = epochs, always
        self._seen, self._best = 0, float("-inf")

    def testing(self, validation: float | None) -> bool:
        """Whether the epoch with this validation figure is worth it; asked once an epoch, in their order."""
        self._seen += 1
        leads = validation is None or self._sign * validation > self._best
        if leads and validation is not None:
            self._best = self._sign * validation
        return self._always or leads or self._seen == self._epochs

    def state_dict(self) -> dict[str, Any]:
        """How many epochs there were, and the best of them."""
        return {"seen": self._seen, "best": self._best}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self._seen, self._best = state["seen"], state["best"]
