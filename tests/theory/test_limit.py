"""Trained networks beside their wide limit, and the claims that are made of them."""

import json

import pytest
import torch

from widealign.errors import UsageError
from widealign.experiments import Results, find
from widealign.models import mlp
from widealign.theory import linearize, run_theory_3
from widealign.theory.flow import initial_weights, walk
from widealign.theory.limit import LIMIT_PLANS, teacher, wide_limit_errors

SMALL = {"widths": (16, 64, 256), "seeds": (1, 2, 3, 4), "steps": 60}


@pytest.fixture(scope="module")
def small():
    return run_theory_3("smoke", **SMALL)


def test_the_distance_to_the_linearized_network_vanishes_with_width_only(small):
    for rule in ("normal", "align-zero"):
        means = small["series"][f"{rule} distance"]["mean"]
        assert means[0] > 2 * means[1] > 4 * means[2] > 1e-3
    assert small["fits"]["align-zero distance"]["slope"] < -0.6
    assert json.loads(json.dumps(small)) == small


def test_the_widest_networks_end_at_the_limit_and_the_narrowest_do_not(small):
    limit = small["limits"]["error"]
    for rule in ("normal", "align-ada", "align-zero"):
        narrow, _, wide = (abs(mean - limit["mean"]) for mean in small["series"][f"{rule} error"]["mean"])
        assert wide < 0.1 * limit["mean"]
        assert wide < narrow
    claims = {claim.says: claim.check(Results(study=small)) for claim in find("theory-3").claims}
    assert [verdict.outcome for verdict in claims.values()] == ["holds", "holds"]
    far = {**small, "limits": {"error": {"mean": 10.0, "error": limit["error"]}}}
    assert find("theory-3").claims[0].check(Results(study=far)).outcome == "does not hold"
    assert find("theory-3").claims[0].check(Results()).outcome == "not enough runs"


@pytest.mark.quick
def test_the_limit_is_the_linearization_that_the_package_makes_of_the_same_network():
    given, answers = teacher(LIMIT_PLANS["smoke"])
    features, outputs = given.inputs.shape[1], given.targets.shape[1]
    weights = initial_weights(30, [1001], features=features, outputs=outputs)
    model = mlp(features, [30, 30], outputs, activation="tanh").double()
    layers = [*model.layers, model.readout]
    with torch.no_grad():
        for layer, weight in zip(layers, weights, strict=True):
            layer.weight.copy_(weight[0])
            layer.bias.zero_()
    for layer in layers:
        layer.bias.requires_grad_(False)
    x = torch.cat([given.inputs, given.held_out])
    torch.testing.assert_close(model(x).detach(), walk(weights, x, "tanh").z[-1][0])
    net = linearize(model, given.inputs, given.targets, given.held_out)
    expected = (net.steps(given.rate, given.steps).test - answers).square().mean()
    torch.testing.assert_close(wide_limit_errors(given, answers, width=30, seeds=1)[0], expected)


@pytest.mark.quick
def test_errors_say_which_scales_there_are():
    with pytest.raises(UsageError, match=r"\['desk', 'paper', 'smoke'\]"):
        run_theory_3("large")
