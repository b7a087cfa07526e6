"""What the tests of the rules share: a learner whose weights have moved, its update, and the oracle's."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

import widealign.rules
from rules.cases import Case, squared
from widealign.oracle import dense_gradients

RULES = widealign.rules.names()
CHAINED = ["fa", "align-prop", "usf", "brsf", "frsf"]
ALIGN = ["align-zero", "align-ada", "align-prop"]

MASKS = 7
"""The seed of the random state before every pass, so that dropout masks can be compared."""


def double(tree: Any) -> Any:
    return tree_map(lambda x: x.double() if isinstance(x, Tensor) and x.is_floating_point() else x, tree)


def move(model: nn.Module, scale: float = 0.3, seed: int = 3) -> None:
    """Moves every parameter away from its initial value."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=generator).to(parameter)


@dataclass(kw_only=True)
class Trial:
    """One rule on one case, in float64 and in the middle of training."""

    learner: Any
    initial: dict[str, Tensor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sites: Any = None
    before: nn.Module | None = None
    """The model before the last pass, which may have moved running statistics."""

    def output(self, module: nn.Module) -> Any:
        """What a module returns, from always the same random state, for inputs that it may change in place."""
        args, kwargs = copy.deepcopy((self.args, self.kwargs))
        torch.manual_seed(MASKS)
        return module(*args, **kwargs)

    def update(self) -> dict[str, Tensor]:
        """The gradients that the learner gives."""
        self.learner.model.zero_grad(set_to_none=True)
        self.before = copy.deepcopy(self.learner.model)
        squared(self.output(self.learner)).backward()
        return gradients(self.learner.model)

    def dense(self, rule: str | None = None) -> dict[str, Tensor]:
        """The same by explicit matrices; after `update`, because some feedback is drawn there."""
        torch.manual_seed(MASKS)
        return dense_gradients(
            rule or self.learner.id,
            self.before or self.learner.model,
            self.initial,
            self.args,
            squared,
            kwargs=self.kwargs,
            # usf is not random: the oracle is to find its magnitude by itself.
            feedback=None if self.learner.id == "usf" else getattr(self.learner, "feedback", None),
            sites=self.sites,
        )


def trial(rule: str, case: Case, *, moved: bool = True, **options: Any) -> Trial:
    """A learner on the case's model, its weights moved since it was made."""
    model = case.model().double()
    learner = widealign.rules.make(rule, model, **case.options, **options)
    initial = copy.deepcopy({name: tensor.detach() for name, tensor in model.state_dict(keep_vars=True).items()})
    if moved:
        move(model)
    args, kwargs = case.batch()
    sites = case.options.get("sites")
    return Trial(learner=learner, initial=initial, args=double(args), kwargs=double(kwargs), sites=sites)


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_same_update(
    actual: Mapping[str, Tensor], expected: Mapping[str, Tensor], rtol: float = 1e-10, floor: float = 1e-3
) -> None:
    """Equal up to `rtol` of each tensor's largest entry, or of `floor`; no gradient is the same as zero."""
    for name in sorted({*actual, *expected}):
        have, want = actual.get(name), expected.get(name)
        have = torch.zeros_like(want) if have is None else have
        want = torch.zeros_like(have) if want is None else want
        worst, size = (have - want).abs().max().item(), max(want.abs().max().item(), floor)
        assert worst <= rtol * size, f"{name}: off by {worst:.3g}, where the largest entry is {size:.3g}"


def differ(one: Mapping[str, Tensor], other: Mapping[str, Tensor], by: float = 1e-4) -> bool:
    """Whether two updates differ clearly in some parameter."""
    return any((one[name] - other[name]).abs().max() > by * one[name].abs().max() for name in {*one} & {*other}) or set(
        one
    ) != set(other)
