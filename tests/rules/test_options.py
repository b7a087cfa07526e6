"""What each option does."""

import copy

import pytest
import torch
from torch import Tensor, nn

import widealign
import widealign.nn as wide
import widealign.rules
from rules.cases import case, cnn, mlp, squared
from rules.support import ALIGN, assert_same_update, differ, gradients, move, trial
from widealign import models

pytestmark = pytest.mark.quick

SEEDED = ["fa", "dfa", "brsf", "frsf"]


def update(learner: nn.Module, x: Tensor) -> dict[str, Tensor]:
    learner.zero_grad(set_to_none=True)
    squared(learner(x)).backward()
    return gradients(learner)


def backprop(model: nn.Module, x: Tensor) -> dict[str, Tensor]:
    twin = copy.deepcopy(model)
    twin.zero_grad(set_to_none=True)
    squared(twin(x)).backward()
    return {f"model.{name}": gradient for name, gradient in gradients(twin).items()}


@pytest.mark.parametrize("rule", ALIGN)
@pytest.mark.parametrize("refresh", [1, 2, 3])
def test_refresh_takes_the_snapshot_anew_every_k_training_passes(rule: str, refresh: int):
    torch.manual_seed(0)
    learner = widealign.rules.make(rule, mlp(nn.Tanh).double(), refresh=refresh)
    x = torch.randn(4, 3).double()
    for step in range(7):
        expected, found = backprop(learner.model, x), update(learner, x)
        if step % refresh == 0:
            assert_same_update(found, expected)
        else:
            assert differ(expected, found, by=1e-6), f"step {step}"
        learner.eval()(x)  # passes that do not train are not counted
        learner.train()
        with torch.no_grad():
            learner(x)
        move(learner.model, 0.1, seed=step)


@pytest.mark.parametrize("rule", ALIGN)
def test_without_refresh_the_first_snapshot_stays(rule: str):
    torch.manual_seed(0)
    learner = widealign.rules.make(rule, mlp(nn.Tanh).double())
    initial = {name: tensor.clone() for name, tensor in learner.initial.values().items()}
    for step in range(4):
        update(learner, torch.randn(4, 3).double())
        move(learner.model, 0.1, seed=step)
    assert all(torch.equal(tensor, initial[name]) for name, tensor in learner.initial.values().items())


@pytest.mark.parametrize("rule", SEEDED)
def test_the_seed_decides_the_feedback(rule: str):
    x = torch.randn(4, 3)
    torch.manual_seed(0)
    model = mlp(nn.Tanh)
    drawn = {}
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        torch.manual_seed(len(name))  # feedback does not depend on the global random state
        learner = widealign.rules.make(rule, copy.deepcopy(model), seed=seed)
        update(learner, x)
        drawn[name] = learner.feedback
    matrices = [name for name, tensor in drawn["one"].items() if tensor.ndim >= 2]
    assert len(matrices) >= 3
    for name in matrices:
        assert torch.equal(drawn["one"][name], drawn["again"][name])
        assert not torch.equal(drawn["one"][name], drawn["two"][name])


@pytest.mark.parametrize("rule", SEEDED)
def test_making_and_running_a_rule_leaves_the_global_random_state_alone(rule: str):
    torch.manual_seed(0)
    model, x = mlp(nn.Tanh), torch.randn(4, 3)
    before = torch.get_rng_state()
    update(widealign.rules.make(rule, model, seed=3), x)
    assert torch.equal(before, torch.get_rng_state())


def test_sites_draw_different_feedback():
    torch.manual_seed(0)
    learner = widealign.FA(nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)))
    assert not torch.equal(learner.feedback["0.weight"], learner.feedback["2.weight"])


@pytest.mark.parametrize(("scale", "expected"), [(3.0, 3.0), (0.0, 0.01)])
def test_random_feedback_has_the_size_of_the_initial_weights(scale: float, expected: float):
    """1/sqrt(fan-in) stands for weights that are all zero."""
    model = nn.Linear(10_000, 4)
    nn.init.normal_(model.weight, std=scale)
    for rule in ("fa", "frsf"):
        learner = widealign.rules.make(rule, model)
        with torch.no_grad():
            model.weight += 1  # a live weight of zero has no sign
        size = learner.feedback["weight"].square().mean().sqrt()
        assert abs(size / expected - 1) < 0.05, rule
        with torch.no_grad():
            model.weight -= 1


@pytest.mark.parametrize("rule", ["fa", "align-prop", "usf", "frsf"])
def test_feedback_lies_in_memory_as_the_weights_do(rule: str):
    model = models.cifar_cnn(4)
    feedback = widealign.rules.make(rule, model).feedback
    for name, parameter in model.named_parameters():
        assert feedback[name].stride() == parameter.stride(), name


def test_fixed_feedback_stays_and_redrawn_feedback_changes():
    x = torch.randn(4, 3)
    for rule, fixed in (("fa", True), ("frsf", True), ("usf", True), ("brsf", False)):
        torch.manual_seed(0)
        learner = widealign.rules.make(rule, mlp(nn.Tanh))
        learner(x)
        first = {name: tensor.clone() for name, tensor in learner.feedback.items()}
        learner(x)
        same = all(torch.equal(first[name], tensor) for name, tensor in learner.feedback.items())
        assert same == fixed, rule


@pytest.mark.parametrize("rule", ["usf", "brsf", "frsf"])
def test_sign_symmetry_follows_the_live_signs(rule: str):
    torch.manual_seed(0)
    learner = widealign.rules.make(rule, mlp(nn.Tanh))
    move(learner.model, 2.0)
    learner(torch.randn(4, 3))
    for name, parameter in learner.model.named_parameters():
        assert torch.equal(learner.feedback[name].sign(), parameter.sign()), name


@pytest.mark.parametrize("rule", SEEDED)
def test_the_same_seed_gives_the_same_feedback_whatever_the_defaults(rule: str):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 40), nn.Tanh(), nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 2)).double()
    x = torch.randn(4, 3).double()
    expected = update(widealign.rules.make(rule, copy.deepcopy(model)), x)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):  # stands for any device that tensors are made on unless they say otherwise
            learner = widealign.rules.make(rule, model)
        found = update(learner, x)
    finally:
        torch.set_default_dtype(torch.float32)
    assert_same_update(found, expected, rtol=1e-12)


def names(learner: widealign.rules.Learner) -> list[str]:
    return [site.name for site in learner.sites]


def test_sites_are_types_names_or_predicates():
    def network() -> nn.Module:
        return nn.Sequential(
            nn.Linear(3, 3), nn.LayerNorm(3), nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Linear(3, 2)
        )

    make = widealign.rules.make
    every = ["0", "1", "2.0", "3"]
    assert names(make("align-ada", network())) == every
    assert names(make("align-ada", network(), sites=(nn.Linear, nn.LayerNorm))) == every
    assert names(make("align-ada", network(), sites=["0", "1", "2", "3"])) == ["0", "1", "2", "3"]
    chosen = make("align-ada", network(), sites=lambda name, module: name in ("0", "1", "2") or name == "3")
    assert names(chosen) == ["0", "1", "2", "3"]
    with pytest.raises(widealign.errors.RefusedModel, match=r"'1.weight' belongs to no site"):
        make("align-ada", network(), sites=nn.Linear)


def test_a_named_site_changes_what_align_ada_learns():
    """Inside a site the derivative is live: naming a block as one site is another rule than its two layers."""
    example = case("named-block")
    block, layers = trial("align-ada", example), trial("align-ada", example)
    layers.learner = widealign.AlignAda(example.model().double())
    move(layers.learner.model)
    assert differ(block.update(), layers.update())


@pytest.mark.parametrize("shared", [False, True])
def test_direct_feedback_may_be_shared_over_space(shared: bool):
    torch.manual_seed(0)
    model = cnn(nn.Tanh).double()
    learner = widealign.DFA(model, shared_over_space=shared)
    x, error = torch.randn(3, 2, 4, 4).double(), torch.randn(3, 2).double()
    learner(x).backward(error)
    B = learner.feedback["2"]
    assert B.shape == ((2, 2) if shared else (2 * 4 * 4, 2))
    teaching = (error @ B.T / 16).view(3, 2, 1, 1) if shared else (error @ B.T).view(3, 2, 4, 4)
    z = model[0](x)
    signal = teaching * (1 - z.tanh() ** 2)
    torch.testing.assert_close(model[0].bias.grad, signal.sum((0, 2, 3)), rtol=1e-10, atol=1e-12)


def test_direct_feedback_is_scaled_by_the_features_that_it_teaches():
    learner = widealign.DFA(nn.Sequential(nn.Linear(3, 400), nn.Tanh(), nn.Linear(400, 50)))
    learner(torch.randn(2, 3))
    assert set(learner.feedback) == {"2"}
    assert abs(learner.feedback["2"].std() * 400**0.5 - 1) < 0.03


def test_the_printed_align_ada_of_the_add_task():
    """A state is taught by later losses only, through the frozen network, and passes the live activation."""
    torch.manual_seed(0)
    model = models.add_rnn(3, "tanh", rows=2, printed_align_ada=True).double()
    learner = widealign.AlignAda(model)
    frozen = copy.deepcopy(model)
    move(model)
    x, error = torch.randn(2, 4).double(), torch.randn(2, 4).double()
    learner(x).backward(error)

    def scan(network: nn.Module, start: Tensor) -> list[Tensor]:
        states = [start]
        for step in x.unsqueeze(-1).unbind(1):
            states.append(network.cell(states[-1], step))
        return states

    live = [h.detach() for h in scan(model, model.initial_state.value)]
    start = model.initial_state.value.detach().requires_grad_()
    old = scan(frozen, start)
    losses = [(frozen.readout(h).squeeze(-1) * e).sum() for h, e in zip(old[1:], error.unbind(1), strict=True)]
    hidden, own = torch.zeros(3, 3).double(), torch.zeros(3, 1).double()
    for i in range(1, 4):  # state i is taught by the losses j > i
        (signal,) = torch.autograd.grad(sum(losses[i:]), old[i], retain_graph=True)
        z = signal * (1 - live[i] ** 2)
        hidden += z.T @ live[i - 1] / 3**0.5
        own += z.T @ x[:, i - 1 : i]
    close = {"rtol": 1e-10, "atol": 1e-12}
    torch.testing.assert_close(model.cell.hidden.weight.grad, hidden, **close)
    torch.testing.assert_close(model.cell.input.weight.grad, own, **close)
    (taught,) = torch.autograd.grad(sum(losses), start)
    torch.testing.assert_close(model.initial_state.value.grad, taught, **close)


def test_an_entry_takes_direct_feedback_of_its_own():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), wide.Entry(), nn.ReLU(), nn.Linear(4, 2)).double()
    learner = widealign.DFA(model)
    x, error = torch.randn(5, 3).double(), torch.randn(5, 2).double()
    learner(x).backward(error)
    signal = (error @ learner.feedback["2"].T) * (1 - model[0](x).tanh() ** 2)
    torch.testing.assert_close(model[0].weight.grad, signal.T @ x, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", widealign.rules.names())
def test_explain_names_every_site_in_words(rule: str, capsys: pytest.CaptureFixture[str]):
    learner = widealign.rules.make(rule, cnn(nn.Tanh, nn.GroupNorm(1, 2)))
    text = widealign.explain(learner)
    assert capsys.readouterr().out == text + "\n"
    lines = text.splitlines()
    assert lines[0].startswith(f"{rule}: ")
    assert [line.split()[0] for line in lines[2:]] == ["0", "1", "3", "6"]
    assert "weight (2,2,3,3)" in lines[2]


def test_unknown_options_are_listed_once():
    with pytest.raises(widealign.errors.UsageError, match=r"'usf' has no option seed; its options are sites\.$"):
        widealign.rules.make("usf", nn.Linear(2, 2), seed=0)
