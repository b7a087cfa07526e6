"""How far each site of a network is from where it began: activations, Jacobian, direction of its updates."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from widealign.graph import Replayed, Site, find_sites, replay, signals
from widealign.rules import Learner, learner_of, model_of


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Relative changes of one site since the beginning, in Frobenius norm.

    Attributes:
        activity: ‖h(t) - h(0)‖ / ‖h(0)‖ of the site's input on one batch.
        jacobian: ‖J(t) - J(0)‖ / ‖J(0)‖ of the network's output by the site's output.
    """

    activity: float
    jacobian: float


@dataclass
class _Seen:
    inputs: dict[str, list[Tensor]] = field(default_factory=dict)
    outputs: dict[str, list[Tensor]] = field(default_factory=dict)


def drift(
    learner: nn.Module,
    initial: Mapping[str, Tensor],
    *args: Any,
    probes: int = 4,
    generator: torch.Generator | None = None,
    **kwargs: Any,
) -> dict[str, Drift]:
    """Relative change of every site's input and Jacobian between `initial` and the live parameters, on one batch.

    The Jacobian's norm is that of the whole batch, estimated with Gaussian vectors u:

        ‖J(t) - J(0)‖² = E ‖J(t)^T u - J(0)^T u‖²

    Args:
        learner: A learner or a model.
        initial: The initial parameters, by name.
        args: What the model is called with.
        probes: Number of vectors u.
        generator: Source of u.
        kwargs: What the model is called with.

    Returns:
        One `Drift` for each site, by name, in the order of the model's modules.
    """
    inner, model = learner_of(learner), model_of(learner)
    sites = inner.sites if isinstance(inner, Learner) else find_sites(model)
    live = {name: p.detach().requires_grad_() for name, p in model.named_parameters()}
    frozen = {**live, **{name: p.detach().requires_grad_() for name, p in initial.items()}}
    first, second = Replayed(model), Replayed(model)
    with first:
        out, now = _walk(model, sites, live, args, kwargs)
    with second:
        out0, then = _walk(model, sites, frozen, args, kwargs)
    names = [site.name for site in sites if now.outputs.get(site.name)]
    change, size = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for _ in range(probes):
        u = [torch.randn(o.shape, generator=generator).to(o) for o in out]
        s, s0 = _signals(out, now, names, u), _signals(out0, then, names, u)
        for name in names:
            change[name] += _square([a - b for a, b in zip(s[name], s0[name], strict=True)])
            size[name] += _square(s0[name])
    return {
        name: Drift(
            activity=_ratio(
                _square([a - b for a, b in zip(now.inputs[name], then.inputs[name], strict=True)]),
                _square(then.inputs[name]),
            ),
            jacobian=_ratio(change[name], size[name]),
        )
        for name in names
    }


def _walk(
    model: nn.Module, sites: Sequence[Site], tensors: dict[str, Tensor], args: Any, kwargs: Any
) -> tuple[list[Tensor], _Seen]:
    with torch.enable_grad(), _watched(sites) as seen:
        return signals(replay(model, tensors, args, kwargs)), seen


@contextmanager
def _watched(sites: Sequence[Site]) -> Iterator[_Seen]:
    seen = _Seen()

    def keep(name: str) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            seen.inputs.setdefault(name, []).extend(leaf.detach().clone() for leaf in signals(args))
            seen.outputs.setdefault(name, []).extend(leaf for leaf in signals(output) if leaf.requires_grad)

        return hook

    handles = [site.module.register_forward_hook(keep(site.name)) for site in sites]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _signals(outputs: list[Tensor], seen: _Seen, names: list[str], u: list[Tensor]) -> dict[str, list[Tensor]]:
    flat = [z for name in names for z in seen.outputs[name]]
    gradients = iter(torch.autograd.grad(outputs, flat, u, retain_graph=True, allow_unused=True))
    taken = {name: [(z, next(gradients)) for z in seen.outputs[name]] for name in names}
    return {name: [torch.zeros_like(z) if g is None else g for z, g in pairs] for name, pairs in taken.items()}


def _square(tensors: list[Tensor]) -> float:
    return sum(t.detach().double().square().sum().item() for t in tensors)


def _ratio(change: float, size: float) -> float:
    """Nothing has changed where nothing can: an embedding's input, say."""
    return math.sqrt(change / size) if size > 0 else 0.0 if change == 0 else math.inf
