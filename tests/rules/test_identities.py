"""The seven identities that tie the rules together, one test each; the seventh is `test_oracle.py`."""

import copy

import pytest
import torch
from torch import nn

import widealign.rules
from rules.cases import EVERY, Case, case, mlp, squared
from rules.support import ALIGN, CHAINED, RULES, Trial, assert_same_update, differ, gradients, move, trial

pytestmark = pytest.mark.quick

PLAIN = ["mlp-tanh", "ntk-cnn", "paper-cnn-tanh", "rnn-cell"]


def backprop(run: Trial) -> dict[str, torch.Tensor]:
    model = copy.deepcopy(run.learner.model)
    model.zero_grad(set_to_none=True)
    squared(run.output(model)).backward()
    return gradients(model)


@pytest.mark.parametrize("example", EVERY)
@pytest.mark.parametrize("rule", RULES)
def test_1_the_output_is_the_models_bit_for_bit(rule: str, example: Case):
    run = trial(rule, example)
    model = copy.deepcopy(run.learner.model)
    ours, theirs = run.output(run.learner), run.output(model)
    for one, other in zip(leaves(ours), leaves(theirs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("rule", ALIGN)
def test_2_at_initialisation_every_align_rule_is_backprop(rule: str, name: str):
    run = trial(rule, case(name), moved=False)
    assert_same_update(run.update(), backprop(run))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("rule", ["fa", "dfa"])
def test_2_at_initialisation_random_feedback_is_not_backprop(rule: str, name: str):
    run = trial(rule, case(name), moved=False)
    assert differ(backprop(run), run.update())


@pytest.mark.parametrize("name", ["mlp-linear", "ntk-mlp-linear", "cnn-linear"])
def test_3_with_linear_activations_align_ada_is_align_prop(name: str):
    ada, prop = trial("align-ada", case(name)), trial("align-prop", case(name))
    update = ada.update()
    assert_same_update(update, prop.update())
    assert differ(backprop(ada), update)


def test_3_with_other_activations_align_ada_is_not_align_prop():
    assert differ(trial("align-ada", case("mlp-tanh")).update(), trial("align-prop", case("mlp-tanh")).update())


@pytest.mark.parametrize("name", PLAIN)
def test_4_fa_with_the_initial_weights_is_align_prop(name: str):
    prop = trial("align-prop", case(name))
    fa = trial("fa", case(name), feedback=prop.initial)
    assert_same_update(fa.update(), prop.update())


@pytest.mark.parametrize("name", PLAIN)
def test_4_fa_with_the_live_weights_is_backprop(name: str):
    moved = trial("normal", case(name)).learner.model
    live = {key: parameter.detach().clone() for key, parameter in moved.named_parameters()}
    fa = trial("fa", case(name), feedback=live)
    # Gains and biases carry no error in these cases, whatever stands for them.
    assert_same_update(fa.update(), backprop(fa))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("rule", ALIGN)
def test_4_a_snapshot_before_every_step_is_backprop(rule: str, name: str):
    run = trial(rule, case(name))
    stale = run.update()
    assert differ(backprop(run), stale)
    run.learner.refresh()
    assert_same_update(run.update(), backprop(run))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("rule", RULES)
def test_5_the_readouts_update_is_backprops(rule: str, name: str):
    run = trial(rule, case(name))
    names = [key for key in dict(run.learner.model.named_parameters()) if key.startswith(readout(run.learner.model))]
    update, expected = run.update(), backprop(run)
    ours, theirs = {key: update[key] for key in names}, {key: expected[key] for key in names}
    if rule == "align-zero":
        assert differ(theirs, ours)
    else:
        assert_same_update(ours, theirs)


def upstream_update(rule: str, downstream: float) -> dict[str, torch.Tensor]:
    """The first layer's update by a fixed output error, after the later layers' weights were changed."""
    torch.manual_seed(0)
    model = mlp(nn.Tanh).double()
    learner = widealign.rules.make(rule, model)
    move(model)
    move(model[2:], downstream, seed=5)
    x, error = torch.randn(4, 3).double(), torch.randn(4, 2).double()
    learner(x).backward(error)
    return {key: gradient for key, gradient in gradients(model).items() if key.startswith("0.")}


@pytest.mark.parametrize("rule", ["align-ada", "align-zero", "dfa"])
def test_6_a_local_rule_does_not_know_the_weights_downstream(rule: str):
    before, after = upstream_update(rule, 0.0), upstream_update(rule, 0.7)
    assert all(torch.equal(before[key], after[key]) and before[key].any() for key in ["0.weight", "0.bias"])


@pytest.mark.parametrize("rule", ["normal", *CHAINED])
def test_6_a_chained_rule_knows_gates_or_weights_downstream(rule: str):
    assert differ(upstream_update(rule, 0.0), upstream_update(rule, 0.7))


def test_6_the_last_layer_rule_teaches_nothing_upstream():
    assert upstream_update("last-layer", 0.7) == {}


def readout(model: nn.Module) -> str:
    return [name for name, module in model.named_modules() if isinstance(module, nn.Linear)][-1]


def leaves(output: object) -> list[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return [output]
    parts = output.values() if isinstance(output, dict) else output
    return [leaf for part in parts for leaf in leaves(part)]
