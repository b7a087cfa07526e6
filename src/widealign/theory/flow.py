"""Full-batch training of many wide MLPs at once, by dense formulas: the ground on which the width rates are measured.

    z_1 = W_1 x / sqrt(m_0),   h_l = σ(z_l),   z_{l+1} = W_{l+1} h_l / sqrt(m_l),   f = z_N,   loss = mean (f - y)²

Everything is in float64 and carries a leading axis of seeds. Written out rather than built on this package's rules, so
that it is a second, independent implementation of four of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

RuleName = Literal["normal", "align-zero", "align-ada", "align-prop"]
ActivationName = Literal["tanh", "erf"]
Weights = list[Tensor]

_ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "tanh": (torch.tanh, lambda z: 1 - torch.tanh(z).square()),
    "erf": (torch.erf, lambda z: 2 / math.sqrt(math.pi) * torch.exp(-z.square())),
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A small regression problem and how it is trained.

    Attributes:
        inputs: (n, features), each of norm sqrt(features).
        targets: (n, outputs).
        held_out: Further inputs.
        activation: A smooth one.
        rate: Learning rate; small against the inverse of the largest kernel eigenvalue, so descent is close to flow.
        steps: Number of steps; rate · steps is the time.
    """

    inputs: Tensor
    targets: Tensor
    held_out: Tensor
    activation: ActivationName = "tanh"
    rate: float = 0.25
    steps: int = 100


@dataclass(frozen=True, kw_only=True)
class Walk:
    """One forward pass: pre-activations z_1 ... z_N and layer inputs h_0 ... h_{N-1}, each (seeds, n, units)."""

    z: list[Tensor]
    h: list[Tensor]


@dataclass(frozen=True, kw_only=True)
class Trained:
    """Weights after training, and the error summed over time: δ = rate · Σ_t n · ∂L/∂f."""

    weights: Weights
    integrated_error: Tensor = field(repr=False)


def problem(
    *,
    examples: int = 10,
    features: int = 8,
    outputs: int = 5,
    activation: ActivationName = "tanh",
    rate: float = 0.25,
    steps: int = 100,
    seed: int = 0,
) -> Problem:
    """Gaussian inputs on the sphere with Gaussian targets."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2 * examples, features, generator=generator, dtype=torch.float64)
    x = x / x.norm(dim=1, keepdim=True) * math.sqrt(features)
    y = torch.randn(examples, outputs, generator=generator, dtype=torch.float64)
    return Problem(inputs=x[:examples], targets=y, held_out=x[examples:], activation=activation, rate=rate, steps=steps)


def initial_weights(width: int, seeds: Sequence[int], *, features: int, outputs: int, hidden: int = 2) -> Weights:
    """W ~ N(0, 1) for each seed, drawn layer by layer; each of shape (seeds, out, in)."""
    sizes = [features, *[width] * hidden, outputs]
    drawn = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        pairs = zip(sizes[1:], sizes[:-1], strict=True)
        drawn.append([torch.randn(out, fan, generator=generator, dtype=torch.float64) for out, fan in pairs])
    return [torch.stack(layer) for layer in zip(*drawn, strict=True)]


def walk(weights: Weights, x: Tensor, activation: ActivationName) -> Walk:
    """The forward pass of all seeds."""
    h = x.expand(len(weights[0]), *x.shape)
    zs, hs = [], []
    for weight in weights:
        hs.append(h)
        zs.append(h @ weight.mT / math.sqrt(weight.shape[-1]))
        h = _ACTIVATIONS[activation][0](zs[-1])
    return Walk(z=zs, h=hs)


def signals(weights: Weights, gates: Walk, e: Tensor, activation: ActivationName) -> list[Tensor]:
    """J_l^T e for every layer: back through `weights`, with the derivatives σ' of `gates`."""
    s = [e]
    for weight, z in zip(reversed(weights[1:]), reversed(gates.z[:-1]), strict=True):
        s.insert(0, s[0] @ weight / math.sqrt(weight.shape[-1]) * _ACTIVATIONS[activation][1](z))
    return s


def jacobians(weights: Weights, at: Walk, activation: ActivationName) -> list[Tensor]:
    """J_l = ∂f/∂z_l of every layer, each (seeds, n, outputs, units)."""
    outputs = at.z[-1].shape[-1]
    rows = [signals(weights, at, row.expand_as(at.z[-1]), activation) for row in torch.eye(outputs).to(at.z[-1])]
    return [torch.stack(layer, 2) for layer in zip(*rows, strict=True)]


def train(rule: RuleName, initial: Weights, given: Problem) -> Trained:
    """Gradient descent on the full batch, or one of the rules in its place."""
    act, n = given.activation, len(given.inputs)
    weights = [w.clone() for w in initial]
    frozen = walk(initial, given.inputs, act)
    frozen_jacobians = jacobians(initial, frozen, act)
    delta = torch.zeros_like(frozen.z[-1])
    for _ in range(given.steps):
        live = walk(weights, given.inputs, act)
        e = 2 * (live.z[-1] - given.targets) / given.targets.numel()
        delta += given.rate * n * e
        activity = frozen.h if rule == "align-zero" else live.h
        for w, s, h in zip(
            weights, _taught(rule, weights, initial, live, frozen_jacobians, e, act), activity, strict=True
        ):
            w.baddbmm_(s.mT, h, alpha=-given.rate / math.sqrt(w.shape[-1]))
    return Trained(weights=weights, integrated_error=delta)


def _taught(
    rule: RuleName,
    weights: Weights,
    initial: Weights,
    live: Walk,
    frozen_jacobians: list[Tensor],
    e: Tensor,
    activation: ActivationName,
) -> list[Tensor]:
    if rule == "normal":
        return signals(weights, live, e, activation)
    if rule == "align-prop":
        return signals(initial, live, e, activation)
    return [torch.einsum("snou,sno->snu", jacobian, e) for jacobian in frozen_jacobians]


def kernel(weights: Weights, x: Tensor, activation: ActivationName) -> Tensor:
    """The tangent kernel Θ_ij = Σ_l J_l,i J_l,j^T (h_i · h_j) / m_{l-1}, of shape (seeds, n, n, outputs, outputs)."""
    at = walk(weights, x, activation)
    blocks = zip(jacobians(weights, at, activation), at.h, strict=True)
    return sum(
        (torch.einsum("siau,sjbu->sijab", j, j) * (h @ h.mT / h.shape[-1])[..., None, None] for j, h in blocks),
        torch.zeros((), dtype=torch.float64),
    )
