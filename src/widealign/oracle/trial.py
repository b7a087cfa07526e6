"""One batch, on which copies of a learner run: the learner, its gradients and the random state stay untouched."""

import copy
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.oracle.cut import grains, jacobian_entries, record
from widealign.oracle.dense import CHAINED
from widealign.oracle.packing import to_float64
from widealign.rules import Learner

Gradients = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """A learner, its arguments and its loss."""

    learner: Learner
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    target: Any
    loss: Callable[[Any, Any], Tensor]

    @classmethod
    def on(cls, learner: Learner, x: Any, y: Any, loss: Callable[[Any, Any], Tensor]) -> "Trial":
        """The trial of a learner on a batch; `x` is a tensor, a tuple of arguments or a dict of keyword arguments."""
        if not learner.training:
            raise UsageError(
                "check needs the learner in training mode, it is in eval mode: call learner.train() first."
            )
        args = () if isinstance(x, Mapping) else x if isinstance(x, tuple) else (x,)
        return cls(learner=learner, args=args, kwargs=dict(x) if isinstance(x, Mapping) else {}, target=y, loss=loss)

    def in_float64(self) -> "Trial":
        """The same in float64 on the CPU."""
        learner = fresh(self.learner).to("cpu", torch.float64)
        args, kwargs, target = to_float64((self.args, self.kwargs, self.target))
        return replace(self, learner=learner, args=args, kwargs=kwargs, target=target)

    def scalar(self, output: Any) -> Tensor:
        """The loss of an output."""
        return self.loss(output, self.target)

    def run(self, module: nn.Module) -> Any:
        """The output of a learner or model, always from the present random state."""
        with self.same_random_state():
            return module(*copy.deepcopy(self.args), **copy.deepcopy(dict(self.kwargs)))

    def update(self, twin: Learner | None = None) -> Gradients:
        """The learner's update, on the copy `twin` or one of its own."""
        twin = fresh(self.learner) if twin is None else twin
        self.scalar(self.run(twin)).backward()
        return gradients(twin.model)

    def backprop(self) -> Gradients:
        """Backpropagation's gradient at the same weights."""
        model = fresh(self.learner).model
        self.scalar(self.run(model)).backward()
        return gradients(model)

    def sites(self) -> list[str]:
        """The names of the learner's sites."""
        return [site.name for site in self.learner.sites]

    def order(self) -> list[str]:
        """The names of the sites in the order of their first calls."""
        with self.same_random_state(), torch.no_grad():
            calls, _ = record(fresh(self.learner).model, {}, self.sites(), self.args, self.kwargs)
        return list(dict.fromkeys(site for site, _ in (call.key for call in calls)))

    def jacobian_entries(self) -> int:
        """How many numbers the dense formula would write out."""
        model, names = fresh(self.learner).model, self.sites()
        if self.learner.id in CHAINED:
            names = [grain for site in names for grain in grains(model, site)]
        with self.same_random_state(), torch.no_grad():
            return jacobian_entries(*record(model, {}, names, self.args, self.kwargs))

    @contextmanager
    def same_random_state(self) -> Generator[None, None, None]:
        """Puts the random state back at the end."""
        device = next(self.learner.model.parameters()).device
        with torch.random.fork_rng(devices=[] if device.type == "cpu" else [device], device_type=device.type):
            yield


def fresh(learner: Learner) -> Learner:
    """A copy of a learner, without gradients; those that it will have are dense."""
    twin = copy.deepcopy(learner)
    twin.zero_grad(set_to_none=True)
    for module in twin.model.modules():
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
            module.sparse = False
    return twin


def gradients(model: nn.Module) -> Gradients:
    """The gradients by the names of their parameters."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def worst_difference(actual: Gradients, expected: Gradients) -> float:
    """Max |actual - expected| / max |expected|, the worst over all parameters; no gradient counts as zero."""
    worst = 0.0
    for name in {*actual, *expected}:
        want = expected[name] if name in expected else torch.zeros_like(actual[name])
        have = actual[name] if name in actual else torch.zeros_like(want)
        size = want.abs().max().item()
        worst = max(worst, (have - want).abs().max().item() / (size if size > 1e-12 else 1.0))
    return worst
