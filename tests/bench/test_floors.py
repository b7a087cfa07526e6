"""Floors against the closed forms of the equations, and against the products that each step really computes."""

import pytest

from bench.support import SMALL, all_rows, rows
from widealign.bench import Case, Choice, contenders
from widealign.bench.cases import NETWORKS, Contender
from widealign.bench.floors import floor
from widealign.rules import names

MLP = Case(network="mlp", width=2048, batch=50, examples=450)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("rule", "mode", "expected"),
    [
        ("normal", "plain", 1),
        ("normal", "in-place", 1),
        ("normal", "compiled", 1),
        ("last-layer", "plain", 1 / 3),
        ("fa", "plain", 1),
        ("align-prop", "plain", 1),
        ("brsf", "plain", 1),
        ("dfa", "plain", 2 / 3),
        ("align-ada", "plain", 4 / 3),
        ("align-ada", "compiled", 4 / 3),
        ("align-ada", "gates", 1),
        ("align-ada", "jacobian", 2 / 3),
        ("align-ada", "in-place", 2 / 3),
        ("align-zero", "plain", 4 / 3),
        ("align-zero", "jacobian", 1),
        ("align-zero", "dual", (1 + 2 * 450 / 2048) / 3),
    ],
)
def test_floors_are_the_closed_forms(rule, mode, expected):
    assert floor(Contender(rule, mode), MLP) == pytest.approx(expected)


@pytest.mark.quick
def test_the_dual_form_gets_dearer_with_the_examples_and_cheaper_with_the_width():
    dual = Contender("align-zero", "dual")
    few, many = (floor(dual, Case(network="mlp", width=1024, batch=50, examples=n)) for n in (512, 1024))
    wide = floor(dual, Case(network="mlp", width=2048, batch=50, examples=1024))
    assert (few, many, wide) == pytest.approx((2 / 3, 1.0, 2 / 3))


@pytest.mark.parametrize("network", NETWORKS)
def test_no_step_computes_less_than_its_floor(network):
    """But for the dual form, whose first layer knows its products with all training examples beforehand."""
    for row in all_rows(network):
        if row["mode"] != "dual":
            assert row["counted"] >= 0.999 * row["floor"], row


def test_a_step_computes_what_its_floor_says_but_for_the_first_layers_input():
    """Backprop needs no gradient at the network's input: 2 F + G in place of 3 F, with G all layers but the first."""
    case = Case(network="mlp", width=512, batch=4, examples=8)
    first, others = 3072 * 512, 2 * 512**2 + 512 * 10
    forward, walk = first + others, others
    expected = {
        ("align-ada", "plain"): 3 * forward + walk,
        ("align-ada", "jacobian"): 2 * forward,
        ("align-ada", "in-place"): 2 * forward,
        ("align-ada", "gates"): 2 * forward + walk,
        ("align-zero", "plain"): 3 * forward + walk,
        ("fa", "plain"): 2 * forward + walk,
        ("normal", "in-place"): 2 * forward + walk,
    }
    found = {(row["rule"], row["mode"]): row["counted"] for row in rows(case, rules=["fa", "align-ada", "align-zero"])}
    for contender, products in expected.items():
        assert found[contender] == pytest.approx(products / (2 * forward + walk), rel=0.02), contender


@pytest.mark.quick
def test_every_contender_of_every_case_has_a_floor():
    for network in NETWORKS:
        for contender in contenders(SMALL[network], Choice(compile=True), names()):
            assert 0 < floor(contender, SMALL[network]) <= 4 / 3
