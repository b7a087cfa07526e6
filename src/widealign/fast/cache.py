"""Feedback of the initial network that is kept instead of computed anew at every visit of an example."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from widealign.errors import RefusedModel, UsageError
from widealign.fast.choose import choose
from widealign.fast.exactness import differences, obstacles
from widealign.fast.gates import Gates
from widealign.fast.initial import InitialNetwork, Listeners, examples
from widealign.fast.jacobians import Jacobians
from widealign.fast.rows import Rows
from widealign.graph import graft_tree, signals

Mode = Literal["none", "jacobian", "gates", "auto"]
Statistics = Literal["batch", "frozen"]
STORES: dict[str, type[Jacobians] | type[Gates]] = {"jacobian": Jacobians, "gates": Gates}

_log = logging.getLogger("widealign")


class Choice(NamedTuple):
    """What the caller of a rule asked for.

    Attributes:
        mode: `jacobian` keeps ∂f/∂z of every site, `gates` the sign or the value of z, `none` nothing; `auto` chooses.
        budget: Bytes that may be kept.
        dtype: Of what is kept; None for that of the network.
    """

    mode: Mode = "none"
    budget: int = 2**30
    dtype: torch.dtype | None = None


class FeedbackCache:
    """What is kept of the initial network, and its use in a training step.

    `report` says in words what was chosen, and why.
    """

    def __init__(self, rule: str, choice: Choice, forms: tuple[str, ...]):
        if choice.mode not in (known := ("none", "auto", *forms)):
            raise UsageError(f"cache= is one of {', '.join(known)} for {rule}; it is {choice.mode!r}.")
        if choice.budget < 0:
            raise UsageError(f"cache_budget= is a number of bytes; it is {choice.budget}.")
        self.rule, self.choice, self.forms = rule, choice, forms
        self.mode: str = choice.mode
        self.report = "nothing is kept" if choice.mode == "none" else "nothing is kept yet"
        self.index: Tensor | None = None
        self.clear()

    @property
    def on(self) -> bool:
        """Whether example numbers are wanted."""
        return self.choice.mode != "none"

    def clear(self) -> None:
        """Forgets what was kept: the initial network is another one now."""
        self.rows, self.store = Rows(), None
        self.mode = self.choice.mode

    @contextlib.contextmanager
    def visiting(self, index: Tensor | None) -> Iterator[None]:
        """Says which examples the batch holds."""
        self.index = None if index is None else index.detach().cpu()
        try:
            yield
        finally:
            self.index = None

    def taught(self, network: InitialNetwork, output: Any, live: Listeners, args: Any, kwargs: Any) -> Any:
        """`output`, whose error reaches the `live` site outputs through the initial network."""
        if self.on:
            return self._taught(network, output, live, args, kwargs)
        return graft_tree(output, network.at(network.listening(live), args, kwargs))

    @torch.compiler.disable
    def _taught(self, network: InitialNetwork, output: Any, live: Listeners, args: Any, kwargs: Any) -> Any:
        index = self._numbers(signals(output))
        if self.store is None and self.mode != "none":
            self._choose(network, live, signals(output), args, kwargs)
        if self.store is None or not self._complete(network, live, index, args, kwargs):
            return graft_tree(output, network.at(network.listening(live), args, kwargs))
        rows = self.rows.find(index)
        return self.store.teach(network, output, live, rows, args, kwargs)

    def _numbers(self, outputs: list[Tensor]) -> Tensor:
        batch = len(outputs[0]) if outputs and outputs[0].dim() else 0
        if self.index is None or self.index.shape != (batch,) or self.index.is_floating_point():
            given = "none" if self.index is None else f"{tuple(self.index.shape)} of {self.index.dtype}"
            raise UsageError(
                f"cache={self.choice.mode!r} needs the numbers of the examples in each training batch, "
                f"learner(x, index=i) with i of shape ({batch},) and of integers; it was given {given}."
            )
        return self.index

    def _choose(self, network: InitialNetwork, live: Listeners, outputs: list[Tensor], args: Any, kwargs: Any) -> None:
        batch = len(outputs[0])
        found = list(obstacles(network.model, network.statistics is not None))
        found = found or list(differences(network, args, kwargs, batch))
        if self.choice.mode == "auto":
            self.mode, self.report = choose(self.choice, self.forms, found, network, live, outputs)
            _log.info("%s: %s", self.rule, self.report)
        else:
            found += Gates.obstacles(network, live) if self.mode == "gates" else []
            if found:
                raise RefusedModel(f"{self.rule} with cache={self.mode!r}", found)
            self.report = f"cache={self.mode!r}, as asked for"
        if self.mode in STORES:
            store = STORES[self.mode]
            most = self.choice.budget // max(1, store.size(live, outputs, self.choice.dtype))
            self.store = store(self.choice.dtype, most)

    def _complete(self, network: InitialNetwork, live: Listeners, index: Tensor, args: Any, kwargs: Any) -> bool:
        """Keeps what is missing for the examples of the batch. False if there is no room for it."""
        assert self.store is not None
        if not (self.rows.find(index) < 0).any():
            return True
        places = self.rows.new(index)
        if self.rows.count + len(places) > self.store.most:
            return self._overflow()
        part = examples((args, kwargs), len(index), places)
        self.store.fill(network, live, self.rows.count, len(places), *part)
        self.rows.add(index[places])
        return True

    def _overflow(self) -> bool:
        room = f"cache_budget={self.choice.budget} bytes hold {self.store.most} examples" if self.store else ""
        if self.choice.mode != "auto":
            raise UsageError(f"{room}, and more are visited: raise it, or use another cache=.")
        self.rows, self.store, self.mode = Rows(), None, "none"
        self.report = f"nothing is kept: {room}, and more are visited; a step recomputes the initial network"
        _log.info("%s: %s", self.rule, self.report)
        return False
