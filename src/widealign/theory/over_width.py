"""Measuring something on trained networks of many widths and seeds, and fitting its power of the width."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from widealign.errors import UsageError
from widealign.theory.alignment_rates import Values
from widealign.theory.fit import fit_slope
from widealign.theory.flow import ActivationName, Problem, Weights, initial_weights, problem

Measure = Callable[[Weights, Problem], Values]
Rows = list[list[float]]

_MEMORY = 2**30


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is measured."""

    widths: tuple[int, ...]
    seeds: tuple[int, ...]
    activations: tuple[ActivationName, ...] = ("tanh", "erf")
    steps: int = 40
    rate: float = 0.5


_WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096)
PLANS: dict[str, Plan] = {
    "smoke": Plan(widths=(32, 64, 128, 256), seeds=(1, 2, 3, 4)),
    "desk": Plan(widths=_WIDTHS, seeds=tuple(range(1, 7))),
    "paper": Plan(widths=_WIDTHS, seeds=tuple(range(1, 21)), steps=160, rate=0.125),
}


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A family of measured values that share one exponent: one per layer and activation, pooled by geometric mean.

    Attributes:
        name: Of the pooled series.
        says: What it is, in symbols.
        slope: The predicted exponent.
        margin: How far a measured exponent may be off.
        source: Whether the exponent is the paper's, or follows from this package's own expansion.
        bound: Whether the prediction is an upper bound: a steeper slope agrees, too.
        members: Which measured values belong to it.
    """

    name: str
    says: str
    slope: float
    margin: float
    source: Literal["paper", "derived"]
    bound: bool = False
    members: Callable[[str], bool]


def measure_over_width(
    study: str, quantity: str, scale: str, changes: dict[str, Any], measure: Measure, quantities: Sequence[Quantity]
) -> dict[str, Any]:
    """Train, measure, pool, fit. The result is plain values for JSON.

    Returns:
        `series`: by name, `mean` and `spread` over seeds at each width, and `values` by width and seed. `fits`: by the
        same names the slope, its 95 % interval, and what was predicted. `details`: values and fit of each layer and
        activation.
    """
    plan = plan_of(scale, changes)
    details: dict[str, Rows] = {}
    for activation in plan.activations:
        found = _measure(plan, activation, measure)
        details |= {f"{activation} {name}": rows for name, rows in found.items()}
    pooled = {q.name: _pool([rows for name, rows in details.items() if q.members(name)]) for q in quantities}
    return {
        "study": study,
        "quantity": quantity,
        "scale": scale,
        "widths": list(plan.widths),
        "seeds": list(plan.seeds),
        "time": plan.steps * plan.rate,
        "steps": plan.steps,
        "series": {name: described(rows) for name, rows in pooled.items()},
        "fits": {q.name: _fitted(plan, q, pooled[q.name]) for q in quantities},
        "details": {n: {"values": rows, "fit": fit_slope(plan.widths, rows).as_json()} for n, rows in details.items()},
    }


def plan_of(scale: str, changes: dict[str, Any], plans: Mapping[str, Plan] = PLANS) -> Plan:
    """The plan of a scale, with some fields set otherwise."""
    if scale not in plans:
        raise UsageError(f"scale= is one of {sorted(plans)}; it is {scale!r}.")
    if unknown := sorted(set(changes) - set(Plan.__dataclass_fields__)):
        raise UsageError(f"A plan's fields are {sorted(Plan.__dataclass_fields__)}; {unknown} are not among them.")
    settings: dict[str, Any] = {n: tuple(v) if isinstance(v, (list, range)) else v for n, v in changes.items()}
    return replace(plans[scale], **settings)


def _measure(plan: Plan, activation: ActivationName, measure: Measure) -> dict[str, Rows]:
    given = problem(activation=activation, steps=plan.steps, rate=plan.rate)
    features, outputs = given.inputs.shape[1], given.targets.shape[1]
    found: dict[str, Rows] = {}
    for i, width in enumerate(plan.widths):
        at_once = max(1, _MEMORY // (64 * width * width))
        for j in range(0, len(plan.seeds), at_once):
            weights = initial_weights(width, plan.seeds[j : j + at_once], features=features, outputs=outputs)
            for name, values in measure(weights, given).items():
                found.setdefault(name, [[] for _ in plan.widths])[i].extend(values)
    return found


def _pool(members: list[Rows]) -> Rows:
    """Geometric mean over members for each width and seed: members share one network, so they are one datum."""
    cells = [list(zip(*rows, strict=True)) for rows in zip(*members, strict=True)]
    return [[math.exp(statistics.fmean(map(math.log, cell))) for cell in row] for row in cells]


def described(rows: Rows) -> dict[str, Any]:
    """Mean and spread over seeds at each width, and the values."""
    spread = [statistics.stdev(row) if len(row) > 1 else 0.0 for row in rows]
    return {"mean": [statistics.fmean(row) for row in rows], "spread": spread, "values": rows}


def _fitted(plan: Plan, quantity: Quantity, rows: Rows) -> dict[str, Any]:
    fit = fit_slope(plan.widths, rows)
    above, below = fit.slope - quantity.slope, quantity.slope - fit.slope
    agrees = above <= quantity.margin and (quantity.bound or below <= quantity.margin)
    return {
        **fit.as_json(),
        "predicted": quantity.slope,
        "margin": quantity.margin,
        "bound": quantity.bound,
        "source": quantity.source,
        "says": quantity.says,
        "agrees": agrees,
    }
