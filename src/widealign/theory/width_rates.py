"""Propositions 1 and 2 and lemma 1 as experiments over width: `run_theory_1` and `run_theory_2`.

`docs/theory.md` says what the propositions bound and what is measured, and which exponents are the paper's and which
follow from this package's own expansion.
"""

from typing import Any, Literal

from widealign.theory.alignment_rates import Values, alignment_gap, rule_differences, wide_regime
from widealign.theory.flow import Problem, RuleName, Weights, train
from widealign.theory.over_width import Quantity, measure_over_width

Scale = Literal["smoke", "desk", "paper"]

_RULES: tuple[RuleName, ...] = ("align-zero", "align-ada", "align-prop")
_LEMMA = "relative change of the {}"


def run_theory_1(scale: Scale = "desk", **changes: Any) -> dict[str, Any]:
    """Proposition 1 and lemma 1: how fast gradient descent approaches its companion, and the wide regime, with width.

    Args:
        scale: `smoke` (seconds), `desk` (minutes; widths 64 to 4096), `paper` (more seeds, smaller steps).
        changes: Fields of `Plan` to set otherwise: widths, seeds, activations, steps, rate.

    Returns:
        See `measure_over_width`. The proposition's series is `difference`.
    """
    return measure_over_width("theory-1", "difference, relative change", scale, changes, _theory_1, _QUANTITIES_1)


def run_theory_2(scale: Scale = "desk", **changes: Any) -> dict[str, Any]:
    """Proposition 2: how fast the Align rules' networks approach gradient descent's with width.

    Args:
        scale: As for `run_theory_1`.
        changes: Fields of `Plan` to set otherwise.

    Returns:
        See `measure_over_width`. For each rule, `RULE layers` is the difference of the hidden layers' outputs and
        `RULE output` that of the network's, which the proposition bounds and which falls faster.
    """
    return measure_over_width("theory-2", "difference", scale, changes, _theory_2, _QUANTITIES_2)


def _theory_1(weights: Weights, given: Problem) -> Values:
    trained = train("normal", weights, given)
    return {**alignment_gap(weights, given, trained), **wide_regime(weights, given, trained)}


def _theory_2(weights: Weights, given: Problem) -> Values:
    return rule_differences(weights, given, train("normal", weights, given), _RULES)


_QUANTITIES_1 = (
    Quantity(
        name="difference",
        says="‖ΔWᵀΔW − Σ/m‖ / √m, operator norm, m the layer's fan-in; every layer",
        slope=-1.0,
        margin=0.15,
        source="paper",
        members=lambda name: " gap " in name,
    ),
    Quantity(
        name="relative difference, hidden",
        says="‖ΔWᵀΔW − Σ/m‖ / ‖Σ/m‖ of layers with wide input",
        slope=-0.5,
        margin=0.1,
        source="derived",
        members=lambda name: " relative " in name and not name.endswith(" 1"),
    ),
    Quantity(
        name="relative difference, first layer",
        says="‖ΔWᵀΔW − Σ/m‖ / ‖Σ/m‖ where the input does not move",
        slope=-1.0,
        margin=0.15,
        source="derived",
        members=lambda name: " relative " in name and name.endswith(" 1"),
    ),
    Quantity(
        name="1 − score, hidden",
        says="1 − S of layers with wide input",
        slope=-1.0,
        margin=0.15,
        source="derived",
        members=lambda name: " deficit " in name and not name.endswith(" 1"),
    ),
    *(
        Quantity(
            name=name,
            says=_LEMMA.format(says),
            slope=-0.5,
            margin=0.1,
            source="paper",
            members=lambda detail, name=name: f" {name}" in detail,
        )
        for name, says in (
            ("weights", "hidden weights, operator norm"),
            ("activity", "hidden activities"),
            ("jacobian", "output Jacobian by hidden layers"),
        )
    ),
    Quantity(
        name="kernel",
        says=_LEMMA.format("tangent kernel"),
        slope=-0.5,
        margin=0.1,
        source="paper",
        bound=True,
        members=lambda name: name.endswith(" kernel"),
    ),
)

_QUANTITIES_2 = tuple(
    quantity
    for rule in _RULES
    for quantity in (
        Quantity(
            name=f"{rule} layers",
            says="‖z_rule − z_descent‖ over the units of a hidden layer",
            slope=-0.5,
            margin=0.1,
            source="derived",
            members=lambda name, rule=rule: f"{rule} layer" in name,
        ),
        Quantity(
            name=f"{rule} output",
            says="‖f_rule − f_descent‖",
            slope=-0.5,
            margin=0.1,
            source="paper",
            bound=True,
            members=lambda name, rule=rule: f"{rule} output" in name,
        ),
    )
)
