"""Propositions 1 and 2 and lemma 1 as experiments over width: `run_theory_1` and `run_theory_2`.

What the propositions bound, and what is measured beside it, is said in `docs/theory.md`; which rates are the paper's
and which follow from this package's own expansion is said in every series (`source`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from widealign.errors import UsageError
from widealign.theory.alignment_rates import Values, alignment_gap, rule_differences, wide_regime
from widealign.theory.fit import fit_slope
from widealign.theory.flow import ActivationName, Problem, RuleName, Weights, initial_weights, problem, train

Scale = Literal["smoke", "desk", "paper"]
Measure = Callable[[Weights, Problem], Values]

_MEMORY = 2**30
_RULES: tuple[RuleName, ...] = ("align-zero", "align-ada", "align-prop")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is measured."""

    widths: tuple[int, ...]
    seeds: tuple[int, ...]
    activations: tuple[ActivationName, ...] = ("tanh", "erf")
    steps: int = 100
    rate: float = 0.25


PLANS: dict[str, Plan] = {
    "smoke": Plan(widths=(32, 64, 128, 256), seeds=(1, 2, 3, 4), steps=40, rate=0.5),
    "desk": Plan(widths=(64, 128, 256, 512, 1024, 2048, 4096), seeds=(1, 2, 3), steps=60, rate=0.4),
    "paper": Plan(widths=(64, 128, 256, 512, 1024, 2048, 4096), seeds=tuple(range(1, 11))),
}


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The exponent that a series should have, and where that is from."""

    slope: float
    source: Literal["paper", "derived"]
    says: str
    bound: bool = False


def run_theory_1(scale: Scale = "desk", **changes: Any) -> dict[str, Any]:
    """Proposition 1 and lemma 1: how fast gradient descent approaches its companion, and the wide regime, with width.

    Args:
        scale: `smoke` (seconds), `desk` (minutes; widths 64 to 4096), `paper` (ten seeds).
        changes: Fields of `Plan` to set otherwise: widths, seeds, activations, steps, rate.

    Returns:
        Plain values for JSON: `widths`, `seeds`, `series` (values by width and seed, with fitted slope and 95 %
        interval, beside the predicted one) and `fits`, of which `theory-1` is the proposition's.
    """

    def measure(weights: Weights, given: Problem) -> Values:
        trained = train("normal", weights, given)
        return {**alignment_gap(weights, given, trained), **wide_regime(weights, given, trained)}

    return _run("theory-1", scale, changes, measure, _predict_1, headline="gap", margin=0.15)


def run_theory_2(scale: Scale = "desk", **changes: Any) -> dict[str, Any]:
    """Proposition 2: how fast the Align rules' networks approach gradient descent's with width.

    Args:
        scale: As for `run_theory_1`.
        changes: Fields of `Plan` to set otherwise.

    Returns:
        As `run_theory_1`; `fits["theory-2"]` is that of the layers' outputs, `fits["theory-2 output"]` that of the
        network's output, which the proposition bounds and which falls faster.
    """

    def measure(weights: Weights, given: Problem) -> Values:
        return rule_differences(weights, given, train("normal", weights, given), _RULES)

    return _run("theory-2", scale, changes, measure, _predict_2, headline="layer", margin=0.1)


def _predict_1(name: str) -> Prediction:
    kind, first = name.split()[0], name.endswith("layer 1")
    if kind == "gap":
        return Prediction(slope=-1.0, source="paper", says="‖ΔWᵀΔW − Σ/m‖ / √m, m the layer's fan-in")
    if kind == "relative":
        slope = -1.0 if first else -0.5
        return Prediction(slope=slope, source="derived", says="‖ΔWᵀΔW − Σ/m‖ / ‖Σ/m‖")
    if kind == "deficit":
        return Prediction(slope=-2.0 if first else -1.0, source="derived", says="1 − alignment score")
    if kind == "kernel":
        return Prediction(slope=-1.0, source="derived", says="relative change of the tangent kernel")
    return Prediction(slope=-0.5, source="paper", says=f"relative change of the {kind}")


def _predict_2(name: str) -> Prediction:
    if name.endswith("output"):
        return Prediction(slope=-0.5, source="paper", says="‖f_rule − f_descent‖", bound=True)
    return Prediction(slope=-0.5, source="derived", says="‖z_rule − z_descent‖ of a hidden layer")


def _run(
    study: str,
    scale: str,
    changes: dict[str, Any],
    measure: Measure,
    predict: Callable[[str], Prediction],
    *,
    headline: str,
    margin: float,
) -> dict[str, Any]:
    plan, began = _plan(scale, changes), time.perf_counter()
    series = [
        _series(f"{activation} {name}", predict(name), plan, rows)
        for activation in plan.activations
        for name, rows in _measure(plan, activation, measure).items()
    ]
    fits = {one["name"]: one["fit"] for one in series}
    chosen = [one for one in series if headline in one["name"].split()]
    fits[study] = _pooled(plan, chosen, -1.0 if study == "theory-1" else -0.5, margin)
    if study == "theory-2":
        outputs = [one for one in series if one["name"].endswith("output")]
        fits["theory-2 output"] = {**_pooled(plan, outputs, -0.5, margin), "bound": True}
    return {
        "study": study,
        "scale": scale,
        "widths": list(plan.widths),
        "seeds": list(plan.seeds),
        "steps": plan.steps,
        "rate": plan.rate,
        "series": series,
        "fits": fits,
        "seconds": round(time.perf_counter() - began, 1),
    }


def _plan(scale: str, changes: dict[str, Any]) -> Plan:
    if scale not in PLANS:
        raise UsageError(f"scale= is one of {sorted(PLANS)}; it is {scale!r}.")
    known = Plan.__dataclass_fields__
    if unknown := sorted(set(changes) - set(known)):
        raise UsageError(f"A plan's fields are {sorted(known)}; {unknown} are not among them.")
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()
    }
    return replace(PLANS[scale], **settings)


def _measure(plan: Plan, activation: ActivationName, measure: Measure) -> dict[str, list[list[float]]]:
    given = problem(activation=activation, steps=plan.steps, rate=plan.rate)
    features, outputs = given.inputs.shape[1], given.targets.shape[1]
    rows: dict[str, list[list[float]]] = {}
    for i, width in enumerate(plan.widths):
        at_once = max(1, min(len(plan.seeds), _MEMORY // (8 * 8 * width * width)))
        for seeds in _chunks(plan.seeds, at_once):
            weights = initial_weights(width, list(seeds), features=features, outputs=outputs)
            for name, values in measure(weights, given).items():
                row = rows.setdefault(name, [[] for _ in plan.widths])[i]
                row.extend(values)
    return rows


def _chunks(seeds: Sequence[int], size: int) -> list[Sequence[int]]:
    return [seeds[i : i + size] for i in range(0, len(seeds), size)]


def _series(name: str, predicted: Prediction, plan: Plan, rows: list[list[float]]) -> dict[str, Any]:
    fit = {**fit_slope(plan.widths, rows).as_json(), "predicted": predicted.slope, "bound": predicted.bound}
    return {"name": name, "says": predicted.says, "source": predicted.source, "values": rows, "fit": fit}


def _pooled(plan: Plan, chosen: list[dict[str, Any]], predicted: float, margin: float) -> dict[str, Any]:
    fit = fit_slope(plan.widths, *[one["values"] for one in chosen])
    within = abs(fit.slope - predicted) <= margin
    return {**fit.as_json(), "predicted": predicted, "margin": margin, "within": within, "bound": False}
