"""Every rule on every case against explicit Jacobians in float64."""

import pytest
import torch

from rules.cases import EVERY, Case, case, squared
from rules.support import MASKS, RULES, assert_same_update, double, trial
from widealign.errors import UsageError
from widealign.oracle import dense_gradients


@pytest.mark.parametrize("example", EVERY)
@pytest.mark.parametrize("rule", RULES)
def test_the_update_is_the_dense_formula(rule: str, example: Case):
    run = trial(rule, example)
    update = run.update()
    assert_same_update(update, run.dense())
    assert any(gradient.any() for gradient in update.values())


@pytest.mark.parametrize("example", EVERY)
def test_the_oracle_of_backpropagation_is_autograd(example: Case):
    model = example.model().double()
    args, kwargs = double(example.batch())
    torch.manual_seed(MASKS)
    dense = dense_gradients("normal", model, {}, args, squared, kwargs=kwargs, sites=example.options.get("sites"))
    torch.manual_seed(MASKS)
    squared(model(*args, **kwargs)).backward()
    assert_same_update({name: p.grad for name, p in model.named_parameters()}, dense)


@pytest.mark.parametrize("example", EVERY)
def test_every_case_is_alive(example: Case):
    """A case whose units are all silent would let any rule pass."""
    run = trial("normal", example)
    update = run.update()
    alive = [name for name, gradient in update.items() if gradient.abs().max() > 1e-6]
    assert len(alive) >= 0.6 * len(list(run.learner.model.parameters())), alive


@pytest.mark.quick
def test_the_oracle_leaves_model_and_random_state_alone():
    model = case("batch-norm").model()
    args, _ = case("batch-norm").batch()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.get_rng_state()
    dense_gradients("align-ada", model, before, args, squared)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.quick
def test_the_oracle_names_the_rules_it_knows():
    with pytest.raises(UsageError, match=r"normal, fa.*got 'backprop'"):
        dense_gradients("backprop", torch.nn.Linear(2, 2), {}, torch.zeros(1, 2), squared)


@pytest.mark.quick
def test_the_oracle_asks_for_random_feedback():
    with pytest.raises(UsageError, match=r"feedback is random: give its tensor for '0.weight'"):
        dense_gradients("fa", case("mlp-tanh").model(), {}, torch.zeros(1, 3), squared)
