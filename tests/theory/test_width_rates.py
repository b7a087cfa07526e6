"""Propositions 1 and 2 on small plans, and the dense formulas behind them against the package's rules."""

import json
import math

import pytest
import torch

import widealign
from widealign.alignment import score
from widealign.errors import UsageError
from widealign.models import mlp
from widealign.rules import make
from widealign.theory import run_remark, run_theory_1, run_theory_2
from widealign.theory.alignment_rates import alignment_gap, companion_factors, wide_regime
from widealign.theory.flow import RuleName, initial_weights, problem, train

SMALL = {"widths": (32, 64, 128, 256), "seeds": (1, 2, 3, 4), "activations": ("tanh",), "steps": 30}


@pytest.mark.quick
@pytest.mark.parametrize("rule", ["normal", "align-zero", "align-ada", "align-prop"])
def test_dense_formulas_and_rules_of_the_package_agree(rule: RuleName) -> None:
    given = problem(steps=12)
    weights = initial_weights(11, [5], features=8, outputs=5)
    model = mlp(8, [11, 11], 5, activation="tanh").double()
    layers = [*model.layers, model.readout]
    with torch.no_grad():
        for layer, weight in zip(layers, weights, strict=True):
            layer.weight.copy_(weight[0])
            layer.bias.zero_()
    learner = make(rule, model)
    optimizer = torch.optim.SGD([layer.weight for layer in layers], lr=given.rate)
    for _ in range(given.steps):
        model.zero_grad()
        widealign.mse(learner(given.inputs), given.targets).backward()
        optimizer.step()
    for layer, weight in zip(layers, train(rule, weights, given).weights, strict=True):
        torch.testing.assert_close(layer.weight.detach(), weight[0], rtol=1e-9, atol=1e-11)


@pytest.mark.quick
def test_the_gap_is_measured_as_it_is_written() -> None:
    given = problem(steps=20)
    weights = initial_weights(150, [1, 2], features=8, outputs=5)
    trained = train("normal", weights, given)
    values = alignment_gap(weights, given, trained)
    for layer, (w, w0, (a, h)) in enumerate(
        zip(trained.weights, weights, companion_factors(weights, given, trained.integrated_error), strict=True), 1
    ):
        delta, star = w - w0, a.mT @ h
        gap = torch.linalg.matrix_norm(delta.mT @ delta - star.mT @ star, 2)
        size = torch.linalg.matrix_norm(star.mT @ star, 2)
        assert values[f"gap layer {layer}"] == pytest.approx((gap / math.sqrt(w.shape[-1])).tolist(), rel=1e-6)
        assert values[f"relative layer {layer}"] == pytest.approx((gap / size).tolist(), rel=1e-6)
        deficits = [1 - score(d, s) for d, s in zip(delta, star, strict=True)]
        assert values[f"deficit layer {layer}"] == pytest.approx(deficits, rel=1e-5)


@pytest.mark.quick
def test_the_companion_of_the_rates_is_align_zero_under_the_live_error() -> None:
    """When Align-zero itself is trained, its own change is the companion's."""
    given = problem(steps=15)
    weights = initial_weights(20, [3], features=8, outputs=5)
    trained = train("align-zero", weights, given)
    for w, w0, (a, h) in zip(
        trained.weights, weights, companion_factors(weights, given, trained.integrated_error), strict=True
    ):
        torch.testing.assert_close(w - w0, a.mT @ h, rtol=1e-9, atol=1e-11)


@pytest.mark.quick
def test_the_wide_regime_has_lemma_1s_quantities() -> None:
    given = problem(steps=15)
    weights = initial_weights(64, [3], features=8, outputs=5)
    values = wide_regime(weights, given, train("normal", weights, given))
    assert set(values) == {"weights layer 2", "activity layer 2", "jacobian layer 1", "jacobian layer 2", "kernel"}
    assert all(0 < v < 1.5 for row in values.values() for v in row)


@pytest.mark.slow
def test_theory_1_small() -> None:
    result = run_theory_1("smoke", **SMALL | {"widths": (64, 128, 256, 512, 1024)})
    fit = result["fits"]["difference"]
    assert fit["slope"] == pytest.approx(-1.0, abs=0.15)
    assert result["fits"]["activity"]["slope"] == pytest.approx(-0.5, abs=0.12)
    assert result["fits"]["1 − score, hidden"]["slope"] == pytest.approx(-1.0, abs=0.2)


def test_theory_2_small_and_the_form_of_a_result() -> None:
    result = run_theory_2("smoke", **SMALL)
    assert json.loads(json.dumps(result)) == result
    for rule in ("align-zero", "align-ada", "align-prop"):
        layers, output = (result["fits"][f"{rule} {part}"] for part in ("layers", "output"))
        assert layers["slope"] == pytest.approx(-0.5, abs=0.2)
        assert output["slope"] < -0.7
        assert output["bound"]
        assert output["agrees"]
        low, high = layers["interval"]
        assert low < layers["slope"] < high
    series = result["series"]["align-ada output"]
    assert [len(series[key]) for key in ("mean", "spread", "values")] == [4, 4, 4]
    assert len(result["details"]) == 9


def test_align_zero_is_not_the_linearized_network() -> None:
    """They take every gradient at θ0, but their errors differ; the difference vanishes in the wide limit only."""
    result = run_remark(widths=(16, 64, 256), seeds=(1, 2, 3, 4), steps=40)
    zero = next(one for one in result["series"] if one["name"] == "align-zero")
    means = [sum(row) / len(row) for row in zero["values"]]
    assert means[0] > 0.05
    assert means[0] > 2 * means[1] > 4 * means[2] > 1e-3


@pytest.mark.quick
def test_errors_say_what_is_known() -> None:
    with pytest.raises(UsageError, match=r"\['desk', 'paper', 'smoke'\]"):
        run_theory_1("large")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"\['depth'\]"):
        run_theory_2("smoke", depth=3)
