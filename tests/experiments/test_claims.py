"""Claims: each verdict, from numbers made for it."""

import pytest

from widealign.experiments import Number, Results
from widealign.experiments.claims import (
    agrees,
    beats,
    below,
    best_rises,
    each_above,
    falls,
    gap_narrows,
    leads,
    rises,
    slope_near,
)
from widealign.experiments.intervals import difference_interval, half_interval

pytestmark = pytest.mark.quick


def results(spread: float | None = None, **rows: list[float | None]) -> Results:
    numbers = {
        (row, column): Number(mean=mean, spread=spread, seeds=1 if spread is None else 5)
        for row, means in rows.items()
        for column, mean in zip(("8", "64"), means, strict=True)
        if mean is not None
    }
    return Results(columns=("8", "64"), numbers=numbers)


@pytest.mark.parametrize(
    ("check", "numbers", "outcome"),
    [
        (leads("a", "b", "c"), {"a": [0, 5], "b": [9, 4], "c": [0, 3]}, "holds"),
        (leads("a", "b", "c"), {"a": [9, 5], "b": [0, 6], "c": [0, 3]}, "does not hold"),
        (leads("a", "b", "c"), {"a": [9, 5], "b": [0, 6]}, "not enough runs"),
        (leads("a", "b"), {"a": [9, 5], "b": [8, None]}, "not enough runs"),
        (beats("a", "b"), {"a": [1, 5], "b": [2, 3]}, "holds"),
        (beats("a", "b"), {"a": [1, 3], "b": [2, 3]}, "does not hold"),
        (beats("a", "b"), {"a": [1, 3]}, "not enough runs"),
        (below("a", "b"), {"a": [1, 3], "b": [2, 3]}, "holds"),
        (below("a", "b", 1.5), {"a": [1.4, 1.4], "b": [1, 1]}, "holds"),
        (below("a", "b", 1.5), {"a": [1.6, 1.6], "b": [1, 1]}, "does not hold"),
        (below("a", "b"), {"a": [1, None], "b": [2, None]}, "holds"),
        (gap_narrows("a", to="b"), {"a": [1, 5], "b": [6, 7]}, "holds"),
        (gap_narrows("a", to="b"), {"a": [5, 1], "b": [6, 7]}, "does not hold"),
        (gap_narrows("a", to="b"), {"a": [5, 1], "b": [6, None]}, "not enough runs"),
        (each_above({"a": "b"}), {"a": [0, 2], "b": [1, 1]}, "holds"),
        (each_above({"a": "b", "c": "d"}), {"a": [3, 3], "b": [1, 1], "c": [1, 1], "d": [0, 2]}, "does not hold"),
        (each_above({"a": "b"}), {"a": [1, 2]}, "not enough runs"),
        (best_rises("a"), {"w 8 | a": [1, 3], "w 64 | a": [4, 2], "w 64 | b": [9, 9]}, "holds"),
        (best_rises("a"), {"w 8 | a": [1, 5], "w 64 | a": [4, 2]}, "does not hold"),
        (best_rises("a"), {"w 8 | a": [1, 5], "w 64 | b": [4, 2]}, "not enough runs"),
        (rises("a", "b"), {"a": [1, 2], "b": [1, 1]}, "holds"),
        (rises("a", "b"), {"a": [1, 0.5], "b": [1, 1]}, "does not hold"),
        (falls("a"), {"a": [1, 0.5]}, "holds"),
        (falls("a"), {"a": [1, None]}, "not enough runs"),
    ],
)
def test_verdicts(check, numbers, outcome):
    verdict = check(results(**numbers))
    assert verdict.outcome == outcome
    assert verdict.because


def test_with_several_seeds_a_difference_within_the_noise_decides_nothing():
    close = leads("a", "b")(results(spread=1.0, a=[0, 5.5], b=[0, 5.0]))
    assert close.outcome == "not enough runs"
    assert "within the noise" in close.because
    assert leads("a", "b")(results(spread=0.1, a=[0, 5.5], b=[0, 5.0])).outcome == "holds"
    assert leads("a", "b")(results(spread=0.1, a=[0, 5.0], b=[0, 5.5])).outcome == "does not hold"


def test_a_change_within_the_tolerance_decides_nothing():
    def single(mean: float) -> Number:
        return Number(mean=mean, tolerance=2.0)

    numbers = {("a", "8"): single(1), ("a", "64"): single(2.5), ("b", "8"): single(4), ("b", "64"): single(4)}
    close = Results(columns=("8", "64"), numbers=numbers)
    for check in (rises("a"), falls("a"), gap_narrows("a", to="b"), leads("b", "a")):
        assert check(close).outcome == "not enough runs"
        assert "noise" in check(close).because
    assert beats("b", "a")(close).outcome == "holds"  # by 2.25 on average over two columns, each known to 2


def test_a_gap_is_as_uncertain_as_both_of_its_ends():
    ends = {("a", "8"): 1.0, ("a", "64"): 4.5, ("b", "8"): 5.0, ("b", "64"): 5.0}
    for tolerance, outcome in ((2.0, "holds"), (2.4, "holds"), (2.5, "not enough runs")):  # 3.5 against √2 of it
        numbers = {key: Number(mean=mean, tolerance=tolerance) for key, mean in ends.items()}
        assert gap_narrows("a", to="b")(Results(columns=("8", "64"), numbers=numbers)).outcome == outcome


def test_seeds_give_an_interval_and_one_seed_a_tolerance():
    assert leads("a", "b")(results(spread=0.1, a=[0, 5.5], b=[0, 5.0])).because.endswith("+0.5 ± 0.15")
    numbers = {("a", "8"): Number(mean=9, tolerance=2.0), ("b", "8"): Number(mean=4, tolerance=2.0)}
    assert beats("a", "b")(Results(columns=("8",), numbers=numbers)).because.endswith("one seed, tolerance 2")


def test_a_multiple_scales_the_spread():
    numbers = {("a", "8"): Number(mean=1.4, spread=0.01, seeds=5), ("b", "8"): Number(mean=1, spread=0.1, seeds=5)}
    assert below("a", "b", 1.5)(Results(columns=("8",), numbers=numbers)).outcome == "not enough runs"


def test_a_verdict_names_the_place_and_three_digits():
    numbers = {("a", "8"): Number(mean=36.0), ("a", "64"): Number(mean=40.0)}
    wide = Results(axis="width", columns=("8", "64"), numbers=numbers)
    assert rises("a")(wide).because == "36.0 at width 8, 40.0 at width 64; one seed"


def test_agreement_is_a_share_of_cells():
    cells = (("a at 8", 0.5, 2.0), ("b at 8", -1.0, 2.0), ("c at 8", 3.0, 2.0))
    assert agrees(0.6)(Results(differences=cells)).outcome == "holds"
    verdict = agrees(0.8)(Results(differences=cells))
    assert verdict.outcome == "does not hold"
    assert "2 of 3" in verdict.because
    assert "c at 8" in verdict.because
    assert "2 of 3 cells agree, 1 to the last" in agrees()(Results(differences=cells, exact=1)).because
    assert agrees()(Results()).outcome == "not enough runs"


def test_slopes():
    study = {"fits": {"x": {"slope": -0.95, "interval": [-1.1, -0.8]}}}
    assert slope_near("x", -1.0, 0.15)(Results(study=study)).outcome == "holds"
    assert slope_near("x", -0.5, 0.1)(Results(study=study)).outcome == "does not hold"
    assert slope_near("x", -0.5, 0.1, bound=True)(Results(study=study)).outcome == "holds"
    assert slope_near("x", -1.2, 0.1, bound=True)(Results(study=study)).outcome == "does not hold"
    assert slope_near("y", -1.0, 0.15)(Results(study=study)).outcome == "not enough runs"
    assert slope_near("x", -1.0, 0.15)(Results()).outcome == "not enough runs"


def test_intervals():
    assert half_interval(1.0, 5) == pytest.approx(2.776 / 5**0.5, rel=1e-3)
    assert half_interval(None, 5) is None
    assert half_interval(1.0, 1) is None
    assert difference_interval((1.0, 5), (1.0, 5)) == pytest.approx(2.306 * (2 / 5) ** 0.5, rel=1e-3)
    assert difference_interval((None, 1), (1.0, 5)) is None
    assert difference_interval((0.0, 5), (0.0, 5)) == 0.0


def test_a_minus_sign_in_a_verdict_is_a_minus_sign():
    apart = each_above({"a": "b"})(results(spread=0.1, a=[0, -1], b=[0, -0.5]))
    assert "a with −1.00 and b with −0.500; −0.5 ±" in apart.because
