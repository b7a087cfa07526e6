"""What propositions 1 and 2 and lemma 1 speak of, measured on trained networks of one width."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from widealign.theory.flow import Problem, RuleName, Trained, Weights, jacobians, kernel, train, walk
from widealign.theory.operator_norm import symmetric_norm

Apply = Callable[[Tensor], Tensor]
Values = dict[str, list[float]]


def companion_factors(initial: Weights, given: Problem, delta: Tensor) -> list[tuple[Tensor, Tensor]]:
    """ΔW*_l = A^T H exactly: A = -J_l(0)^T δ / (n sqrt(m)), H = h_{l-1}(0), of n rows each.

    This is proposition 1's identity read backwards: full-batch Align-zero depends on the errors only through their sum.
    """
    frozen = walk(initial, given.inputs, given.activation)
    n = len(given.inputs)
    factors = []
    for j, h in zip(jacobians(initial, frozen, given.activation), frozen.h, strict=True):
        factors.append((-torch.einsum("snou,sno->snu", j, delta) / (n * math.sqrt(h.shape[-1])), h))
    return factors


def alignment_gap(initial: Weights, given: Problem, trained: Trained) -> Values:
    """Proposition 1, for each layer l with fan-in m.

    gap_l      = ‖ΔW^T ΔW - Σ/m‖ / sqrt(m)          Σ/m = ΔW*^T ΔW*,  operator norm
    relative_l = ‖ΔW^T ΔW - Σ/m‖ / ‖Σ/m‖
    deficit_l  = 1 - S_l                             the alignment score of equation 13
    """
    values: Values = {}
    factors = companion_factors(initial, given, trained.integrated_error)
    for layer, (now, then, (a, h)) in enumerate(zip(trained.weights, initial, factors, strict=True), start=1):
        change, fan_in = now - then, now.shape[-1]

        def sigma(v: Tensor, a: Tensor = a, h: Tensor = h) -> Tensor:
            return _times(h.mT, _times(a, _times(a.mT, _times(h, v))))

        def gap(v: Tensor, change: Tensor = change, sigma: Apply = sigma) -> Tensor:
            return _times(change.mT, _times(change, v)) - sigma(v)

        distance = symmetric_norm(gap, len(now), fan_in)
        size = symmetric_norm(sigma, len(now), fan_in)
        values[f"gap layer {layer}"] = (distance / math.sqrt(fan_in)).tolist()
        values[f"relative layer {layer}"] = (distance / size).tolist()
        values[f"deficit layer {layer}"] = _deficit(change, a, h)
    return values


def wide_regime(initial: Weights, given: Problem, trained: Trained) -> Values:
    """Lemma 1: relative changes of weights (operator norm), activities, Jacobians and tangent kernel under descent."""
    act, x = given.activation, given.inputs
    then, now = walk(initial, x, act), walk(trained.weights, x, act)
    values: Values = {}
    for layer in range(2, len(initial)):
        w0, w = initial[layer - 1], trained.weights[layer - 1]
        values[f"weights layer {layer}"] = (_operator_norm(w - w0) / _operator_norm(w0)).tolist()
        values[f"activity layer {layer}"] = _relative(now.h[layer - 1], then.h[layer - 1])
    pairs = list(zip(jacobians(trained.weights, now, act), jacobians(initial, then, act), strict=True))
    for layer, (j, j0) in enumerate(pairs[:-1], start=1):
        values[f"jacobian layer {layer}"] = _relative(j, j0)
    values["kernel"] = _relative(kernel(trained.weights, x, act), kernel(initial, x, act))
    return values


def rule_differences(initial: Weights, given: Problem, descent: Trained, rules: Sequence[RuleName]) -> Values:
    """Proposition 2: how far a rule's network ends from gradient descent's, over training and held-out inputs.

    layers_l = sqrt(mean_x ‖z_l^rule(x) - z_l^normal(x)‖²)     hidden layers, Euclidean norm over units
    output   = sqrt(mean_x ‖f^rule(x) - f^normal(x)‖²)         the network's output
    """
    act, x = given.activation, torch.cat([given.inputs, given.held_out])
    reference = walk(descent.weights, x, act).z
    values: Values = {}
    for rule in rules:
        other = walk(train(rule, initial, given).weights, x, act).z
        for layer, (z, z0) in enumerate(zip(other, reference, strict=True), start=1):
            name = f"{rule} output" if layer == len(reference) else f"{rule} layer {layer}"
            values[name] = (z - z0).square().sum(-1).mean(-1).sqrt().tolist()
    return values


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _operator_norm(matrix: Tensor) -> Tensor:
    fan_in = matrix.shape[-1]
    return symmetric_norm(lambda v: _times(matrix.mT, _times(matrix, v)), len(matrix), fan_in).sqrt()


def _relative(now: Tensor, then: Tensor) -> list[float]:
    return ((now - then).flatten(1).norm(dim=1) / then.flatten(1).norm(dim=1)).tolist()


def _deficit(change: Tensor, a: Tensor, h: Tensor) -> list[float]:
    """1 - S, with ΔW* = A^T H kept in thin factors."""
    thin, (a_gram, h_gram) = _thin(change, h), (a @ a.mT, h @ h.mT)
    both = torch.einsum("soi,sij,soj->s", change @ h.mT, a_gram, change @ h.mT)
    sizes = _trace_of_square(thin.mT @ thin) * _trace_of_square(a_gram @ h_gram)
    return (1 - both / sizes.sqrt()).clamp_min(torch.finfo(torch.float64).eps).tolist()


def _thin(change: Tensor, h: Tensor, extra: int = 60) -> Tensor:
    """ΔW in an orthonormal basis of (nearly all of) its row space: the initial activities and a random sketch.

    ΔW has as many large singular values as there are examples; what 60 further directions leave out is below rounding.
    """
    if min(change.shape[-2:]) <= extra + h.shape[-2]:
        return change
    generator = torch.Generator().manual_seed(0)
    omega = torch.randn(change.shape[-1], extra, generator=generator, dtype=change.dtype)
    basis = torch.linalg.qr(torch.cat([h.mT, change.mT @ (change @ omega)], -1)).Q
    return change @ basis


def _trace_of_square(matrix: Tensor) -> Tensor:
    return (matrix * matrix.mT).sum((-1, -2))
