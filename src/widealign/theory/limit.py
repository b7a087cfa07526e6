"""`run_theory_3`: trained networks beside their wide limit, and Align-zero beside the linearized network."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from widealign.theory.fit import fit_slope
from widealign.theory.flow import Problem, RuleName, Weights, initial_weights, kernel, train, walk
from widealign.theory.linearized import LinearizedNetwork
from widealign.theory.over_width import Plan, Rows, described, plan_of
from widealign.theory.remark import linearized_outputs

LIMIT_PLANS = {
    "smoke": Plan(widths=(16, 32, 64), seeds=(1, 2, 3), activations=("tanh",), steps=100),
    "desk": Plan(widths=(16, 32, 64, 128, 256, 512), seeds=tuple(range(1, 13)), activations=("tanh",), steps=200),
    "paper": Plan(
        widths=(16, 32, 64, 128, 256, 512, 1024),
        seeds=tuple(range(1, 25)),
        activations=("tanh",),
        steps=800,
        rate=0.125,
    ),
}
_BOUND = {"predicted": -0.5, "bound": True}
_RULES: tuple[RuleName, ...] = ("normal", "align-prop", "align-ada", "align-zero")
_LIMIT_WIDTH, _LIMIT_SEEDS, _LIMIT_FIRST_SEED = 2048, 24, 1001
_EXAMPLES, _HELD_OUT, _FEATURES, _OUTPUTS = 40, 200, 4, 2


def run_theory_3(scale: str = "desk", **changes: Any) -> dict[str, Any]:
    """Held-out error of each rule's network over width, its wide limit, and the distance to the linearized network.

    The wide limit is kernel regression stopped at the same step, with tangent kernels and outputs at the start of
    networks of width 2048 in place of the infinite-width ones: exact gradient descent of their linearizations.

    Args:
        scale: `smoke`, `desk` (about a minute) or `paper`.
        changes: Fields of `Plan` to set otherwise.

    Returns:
        Plain values: `series` as of `measure_over_width`, `RULE error` and `RULE distance`; `limits` with the mean and
        the standard error of the limit's held-out error; `fits` of the distances.
    """
    plan = plan_of(scale, changes, LIMIT_PLANS)
    given, answers = teacher(plan)
    found: dict[str, Rows] = {}
    for width in plan.widths:
        weights = _drawn(width, plan.seeds)
        linear = linearized_outputs(weights, given)
        for rule in _RULES:
            after = train(rule, weights, given).weights
            held_out = walk(after, given.held_out, given.activation).z[-1]
            found.setdefault(f"{rule} error", []).append(_error(held_out, answers).tolist())
            distance = walk(after, given.inputs, given.activation).z[-1] - linear
            found.setdefault(f"{rule} distance", []).append(distance.square().sum(-1).mean(-1).sqrt().tolist())
    limit = wide_limit_errors(given, answers)
    distances = {name: rows for name, rows in found.items() if name.endswith(" distance")}
    return {
        "study": "theory-3",
        "quantity": "distance",
        "scale": scale,
        "widths": list(plan.widths),
        "seeds": list(plan.seeds),
        "time": plan.steps * plan.rate,
        "steps": plan.steps,
        "series": {name: described(rows) for name, rows in found.items()},
        "limits": {"error": {"mean": limit.mean().item(), "error": (limit.std() / math.sqrt(len(limit))).item()}},
        "fits": {name: {**fit_slope(plan.widths, rows).as_json(), **_BOUND} for name, rows in distances.items()},
    }


def teacher(plan: Plan) -> tuple[Problem, Tensor]:
    """Regression on sines of random projections of inputs on a sphere, and the held-out inputs' targets."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(_EXAMPLES + _HELD_OUT, _FEATURES, generator=generator, dtype=torch.float64)
    x = x / x.norm(dim=1, keepdim=True) * math.sqrt(_FEATURES)
    y = torch.sin(x @ torch.randn(_FEATURES, _OUTPUTS, generator=generator, dtype=torch.float64))
    given = Problem(
        inputs=x[:_EXAMPLES],
        targets=y[:_EXAMPLES],
        held_out=x[_EXAMPLES:],
        activation=plan.activations[0],
        rate=plan.rate,
        steps=plan.steps,
    )
    return given, y[_EXAMPLES:]


def wide_limit_errors(given: Problem, answers: Tensor, width: int = _LIMIT_WIDTH, seeds: int = _LIMIT_SEEDS) -> Tensor:
    """Held-out errors of the linearizations of wide networks after the same descent, one for each seed."""
    n, x = len(given.inputs), torch.cat([given.inputs, given.held_out])
    errors = []
    for seed in range(_LIMIT_FIRST_SEED, _LIMIT_FIRST_SEED + seeds):  # none of the networks that it is compared with
        weights = _drawn(width, [seed])
        start = walk(weights, x, given.activation).z[-1][0]
        full = kernel(weights, x, given.activation)[0]
        net = LinearizedNetwork(full[:n, :n], full[n:, :n], given.targets, start[:n], start[n:])
        errors.append(_error(net.steps(given.rate, given.steps).test, answers))
    return torch.stack(errors)


def _drawn(width: int, seeds: Sequence[int]) -> Weights:
    return initial_weights(width, seeds, features=_FEATURES, outputs=_OUTPUTS)


def _error(outputs: Tensor, answers: Tensor) -> Tensor:
    return (outputs - answers).square().mean((-1, -2))
