"""The initial network, as a rule hands it to the fast paths: they know no rule."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from widealign.fast.statistics import FrozenStatistics
from widealign.graph import Pass, Site, detached, map_signals, replay, signals

Listeners = Mapping[str, list[Any]]
"""By site, for each of its calls: the tensors that shall hear the gradient at its output."""


@dataclass(frozen=True, kw_only=True)
class InitialNetwork:
    """A model at its initial weights.

    Attributes:
        model: The live model, whose code it runs.
        sites: Where parameters learn.
        weights: The initial parameters, by their names in the model.
        run: Calls a function, which calls the model, with a `Pass` at the model's sites.
        listening: The pass whose site outputs hand the gradient that reaches them on to listeners.
        statistics: Of the normalisers; None for those of each batch.
    """

    model: nn.Module
    sites: tuple[Site, ...]
    weights: Mapping[str, Tensor]
    run: Callable[..., Any]
    listening: Callable[[Listeners], Pass]
    statistics: FrozenStatistics | None = None

    def at(self, current: Pass, args: Any, kwargs: Any) -> Any:
        """The initial network's output, with `current` at its sites."""
        with self.normalising():
            return self.run(current, replay, self.model, dict(self.weights), args, kwargs)

    def normalising(self) -> AbstractContextManager[None]:
        """While it lasts, the model's normalisers use the frozen statistics, if there are any."""
        return nullcontext() if self.statistics is None else self.statistics.used_by(self.model)


class Remembering(Protocol):
    """A learner that knows its initial network."""

    id: ClassVar[str]
    model: nn.Module
    sites: tuple[Site, ...]

    def initial_network(self) -> InitialNetwork:
        """What the fast paths may know of it."""
        ...


class Values(Pass):
    """Keeps the values of every site call: what enters, and what comes out.

    `downstream` names the sites whose inputs come from another site; only a pass with a graph knows them.
    """

    def __init__(self, keep_outputs: bool = True) -> None:
        self.inputs: dict[str, list[Any]] = {}
        self.outputs: dict[str, list[Any]] = {}
        self.downstream: set[str] = set()
        self.keep_outputs = keep_outputs

    def enter(self, site: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Keeps the inputs."""
        self.inputs.setdefault(site, []).append(detached((args, kwargs)))
        if any(signal.requires_grad for signal in signals((args, kwargs))):
            self.downstream.add(site)
        return args, kwargs

    def leave(self, site: str, output: Any) -> Any:
        """Keeps a copy of the output, which the model may change in place."""
        if self.keep_outputs:
            self.outputs.setdefault(site, []).append(map_signals(lambda t: t.detach().clone(), output))
        return output


def values(network: InitialNetwork, args: Any, kwargs: Any) -> Values:
    """Runs the initial network without a graph, and keeps what its sites take and give."""
    seen = Values()
    with torch.no_grad():
        network.at(seen, args, kwargs)
    return seen


def taps(outputs: Listeners) -> list[Tensor]:
    """The tensors of all site calls, in order."""
    return [leaf for calls in outputs.values() for call in calls for leaf in signals(call)]


def probes_for(outputs: Listeners, count: int | None = None) -> dict[str, list[Any]]:
    """Zeros in the shape of the site outputs (of their first `count` examples), which can hear gradients."""

    def probe(tap: Tensor) -> Tensor:
        return torch.zeros_like(tap[:count]).requires_grad_()

    return {site: [map_signals(probe, call) for call in calls] for site, calls in outputs.items()}


def examples(tree: Any, batch: int, chosen: Tensor) -> Any:
    """The part of a model's inputs that belongs to the chosen examples: rows of all tensors with the batch in front."""

    def part(leaf: Any) -> Any:
        of_batch = isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == batch
        return leaf[chosen.to(leaf.device)] if of_batch else leaf

    return torch.utils._pytree.tree_map(part, tree)
