import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from train.support import numbers, small_trial
from widealign.errors import Diverged
from widealign.train import BrokeDown, Loop, Steps
from widealign.train.finite import first_broken_layer

pytestmark = pytest.mark.quick


def _broken(trial, look_every: int = 1) -> tuple[BrokeDown, list[float]]:
    loop = Loop(trial)
    loop._look_every = look_every
    losses: list[float] = []
    try:
        for event in loop.run():
            losses += event.losses if isinstance(event, Steps) else ()
    except BrokeDown as broke:
        return broke, losses
    pytest.fail("the loop did not break down")


def _with_bad_example(step: int) -> object:
    """A trial whose batch of that step holds an infinite input."""
    trial = small_trial("normal", batch_size=5)
    examples = numbers()
    order = torch.arange(23)
    examples.inputs[5 * step - 3] = math.inf
    return replace(trial, examples=examples, order=lambda: order)


@pytest.mark.parametrize("look_every", [1, 3])
@pytest.mark.parametrize("step", [2, 3])
def test_a_loss_that_is_not_finite_names_step_epoch_and_layer(look_every, step):
    error, losses = _broken(_with_bad_example(step), look_every)
    assert isinstance(error, Diverged)
    assert error.exit_code == 3
    assert (error.breakdown.step, error.breakdown.epoch, error.breakdown.what) == (step, 1, "loss")
    assert error.breakdown.layer == "0"
    assert str(error) == f"the loss is not finite at step {step} (epoch 1) in layer 0"
    told = losses + list(error.losses)
    assert len(told) == step
    assert not math.isfinite(told[-1])
    assert all(math.isfinite(loss) for loss in told[:-1])


class _RootAtZero(nn.Module):
    def forward(self, x):
        return (x * 0).abs().sqrt()  # value 0, gradient infinite times 0


def test_a_gradient_that_is_not_finite_is_noticed_before_it_reaches_the_weights():
    trial = small_trial("normal")
    trial.learner.model.add_module("4", _RootAtZero())
    before = trial.learner.model[0].weight.clone()
    error, losses = _broken(trial)
    assert losses == []
    assert (error.breakdown.step, error.breakdown.what, error.breakdown.layer) == (1, "gradient", "0")
    assert math.isfinite(error.losses[0])
    assert torch.equal(trial.learner.model[0].weight, before)


def test_an_evaluation_that_is_not_finite_is_a_breakdown_too():
    trial = replace(small_trial(), evaluate=lambda: {"eval_loss": math.inf})
    error, _ = _broken(trial)
    assert (error.breakdown.step, error.breakdown.epoch, error.breakdown.what) == (4, 1, "evaluation loss")
    assert error.breakdown.layer in ("0", "3")


def test_gradients_that_are_large_but_finite_are_no_breakdown():
    trial = replace(small_trial("normal", lr=1e-38), loss=lambda f, y: (f - y).abs().mean() * 1e37)
    for event in Loop(trial).run():
        if isinstance(event, Steps):
            gradient = trial.learner.model[3].weight.grad
            assert math.isinf(gradient.norm())  # the sum of squares overflows, no entry does
            assert gradient.isfinite().all()


def test_the_first_broken_module_is_the_inner_one_that_began_it():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    with torch.no_grad():
        model[1][0].weight.fill_(3e38)
        model[0].weight.fill_(1e3)
    assert first_broken_layer(model, torch.ones(1, 2)) == "1.0"
    assert first_broken_layer(model, torch.full((1, 2), math.nan)) == "0"
    with torch.no_grad():
        model[1][0].weight[0, 0] = math.nan
    assert first_broken_layer(model, torch.ones(1, 2)) == "1.0"


def test_if_only_the_loss_overflows_the_layer_with_the_largest_output_is_named():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with torch.no_grad():
        model[0].weight.fill_(1e20)
        model[1].weight.fill_(1.0)
        model[1].bias.fill_(1e30)
    assert first_broken_layer(model, torch.ones(1, 2)) == "1"


def test_a_shared_activation_is_not_blamed_for_the_layer_before_it():
    activation = nn.ReLU()
    model = nn.Sequential(nn.Linear(3, 4), activation, nn.Linear(4, 4), activation, nn.Linear(4, 2))
    with torch.no_grad():
        model[0].weight.fill_(1.0)
        model[2].weight.fill_(3e38)
    assert first_broken_layer(model, torch.ones(2, 3)) == "2"
