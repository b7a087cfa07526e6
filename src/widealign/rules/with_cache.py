"""Rules whose feedback comes from the initial network alone, so that it can be kept for each training example."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from widealign.fast import Choice, FeedbackCache, FrozenStatistics, InitialNetwork, Mode, Statistics
from widealign.graph import Sites, Snapshot, signals
from widealign.rules.injected import FrozenPass
from widealign.rules.with_snapshot import WithSnapshot


class WithCache(WithSnapshot):
    """A rule that can be called with the numbers of the batch's examples, `learner(x, index=i)`; see `widealign.fast`.

    Args:
        model: Any module; its parameters now are the initial ones.
        sites: Where parameters learn.
        refresh: Take the snapshot anew before every `refresh`-th training forward pass.
        cache: What is kept of the initial network; `auto` chooses, `cache_report` says what and why.
        cache_budget: Bytes that may be kept.
        cache_dtype: In which type; by default the network's.
        feedback_statistics: `frozen` normalises the initial network by its statistics over the training data, which
            `gather_statistics` takes, in the place of those of each batch.
    """

    kept_forms: tuple[str, ...] = ("jacobian", "gates")

    def __init__(self, model: nn.Module, *, sites: Sites = None, refresh: int | None = None, cache: Mode = "none",
                 cache_budget: int = 2**30, cache_dtype: torch.dtype | None = None,
                 feedback_statistics: Statistics = "batch"):  # fmt: skip
        super().__init__(model, sites=sites, refresh=refresh)
        self.cache = FeedbackCache(self.id, Choice(cache, cache_budget, cache_dtype), self.kept_forms)
        self.kept_statistics = Snapshot()
        self.frozen_statistics = FrozenStatistics.chosen(feedback_statistics, self.kept_statistics, refresh)

    def problems_of(self, output: Any) -> Iterator[str]:
        """The error of a loss inside the model would be that of the initial network, not of the live one."""
        if any(signal.dim() == 0 and signal.requires_grad for signal in signals(output)):
            yield (
                f"it returns a number for the whole batch (a loss, say), and {type(self).__name__} takes its error at "
                "what the model returns: return outputs for each example, and compute the loss outside of the model"
            )

    @property
    def cache_report(self) -> str:
        """What is kept of the initial network, and why."""
        return self.cache.report

    def gather_statistics(self, batches: Iterable[Tensor]) -> None:
        """Takes the statistics of the initial network over the training data, for `feedback_statistics="frozen"`."""
        FrozenStatistics(self.kept_statistics).gather(self.model, self.initial.values(), batches)
        self.cache.clear()

    def initial_network(self) -> InitialNetwork:
        """What the fast paths may know of this rule."""
        reentry = frozenset(s.name for s in self.sites if getattr(s.module, "taught_at_reentry", False))
        return InitialNetwork(model=self.model, sites=self.sites, weights=self.initial.values(), run=self.run,
                              listening=lambda listeners: FrozenPass(listeners, reentry),
                              statistics=self.frozen_statistics)  # fmt: skip

    def taught(self, output: Any, live: dict[str, list[Any]], args: Any, kwargs: Any) -> Any:
        """`output`, whose error reaches the `live` site outputs through the initial network."""
        return self.cache.taught(self.initial_network(), output, live, args, kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As every learner's; `index=` is for the cache, not for the model."""
        if not self.cache.on:
            return super().forward(*args, **kwargs)
        with self.cache.visiting(kwargs.pop("index", None)):
            return super().forward(*args, **kwargs)

    def refresh(self) -> None:
        """Takes the snapshot anew, and forgets what was kept of the old one."""
        super().refresh()
        FrozenStatistics(self.kept_statistics).forget()
        self.cache.clear()

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Restores the number of training passes. What was kept is rebuilt."""
        super().set_extra_state(state)
        self.cache.clear()

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.cache.clear()
        return super()._apply(*args, **kwargs)
