"""The companion is the Align-zero update under the live network's error, whatever trains the network."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import widealign
from widealign.alignment import Companion, score
from widealign.errors import UsageError
from widealign.models import mlp
from widealign.rules import make

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.3),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02),
}


def data(n: int = 12) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    return x, torch.randn(n, 3, generator=generator, dtype=torch.float64)


def network() -> nn.Module:
    torch.manual_seed(1)
    return mlp(4, [10, 9], 3, activation="tanh").double()


def by_hand(model: nn.Module, rule: str, make_optimizer: Callable[..., torch.optim.Optimizer], steps: int = 6) -> dict:
    """Equation 16 with explicit Jacobians of the initial network, one example and one output at a time."""
    x, y = data()
    initial = {name: p.detach().clone() for name, p in model.named_parameters()}
    jacobian = torch.func.jacrev(lambda theta: torch.func.functional_call(model, theta, (x,)))(initial)
    star = {name: nn.Parameter(p.clone()) for name, p in initial.items()}
    learner, live, frozen = make(rule, model), None, make_optimizer(star.values())
    live = make_optimizer(model.parameters())
    for _ in range(steps):
        output = learner(x)
        live.zero_grad()
        widealign.mse(output, y).backward()
        error = 2 * (output.detach() - y) / y.numel()
        for name, p in star.items():
            p.grad = torch.tensordot(error, jacobian[name], dims=([0, 1], [0, 1]))
        live.step()
        frozen.step()
    return {name: p.detach() - initial[name] for name, p in star.items()}


@pytest.mark.quick
@pytest.mark.parametrize("rule", ["plain model", "normal", "fa", "align-ada", "align-zero"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_companion_is_equation_16(rule: str, optimizer: str) -> None:
    expected = by_hand(network(), "normal" if rule == "plain model" else rule, OPTIMIZERS[optimizer])
    x, y = data()
    model = network()
    learner = model if rule == "plain model" else make(rule, model)
    live = OPTIMIZERS[optimizer](model.parameters())
    companion = Companion(learner, live)
    for _ in range(6):
        live.zero_grad()
        widealign.mse(learner(x), y).backward()
        companion.step()
        live.step()
    for name, change in companion.changes().items():
        torch.testing.assert_close(change, expected[name], rtol=1e-10, atol=1e-12)


@pytest.mark.quick
def test_align_zero_is_its_own_companion() -> None:
    x, y = data()
    model = network()
    learner = make("align-zero", model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    companion = Companion(learner, optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        widealign.mse(learner(x), y).backward()
        companion.step()
        optimizer.step()
    for name, change in companion.learned().items():
        torch.testing.assert_close(change, companion.changes()[name], rtol=1e-12, atol=1e-14)


@pytest.mark.quick
def test_settings_that_change_during_training_are_followed() -> None:
    x, y = data()
    model = network()
    learner = make("align-zero", model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    companion = Companion(learner, optimizer)
    for _ in range(3):
        optimizer.zero_grad()
        widealign.mse(learner(x), y).backward()
        companion.step()
        optimizer.step()
        schedule.step()
    for name, change in companion.learned().items():
        torch.testing.assert_close(change, companion.changes()[name], rtol=1e-12, atol=1e-14)


@pytest.mark.quick
def test_without_an_optimizer_only_the_size_differs() -> None:
    x, y = data()
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    first, second = Companion(model, optimizer), Companion(model)
    for _ in range(3):
        optimizer.zero_grad()
        widealign.mse(model(x), y).backward()
        first.step()
        second.step()
        optimizer.step()
    for name, change in first.changes().items():
        torch.testing.assert_close(8 * change, second.changes()[name])


@pytest.mark.quick
def test_step_before_backward_and_accumulated_passes() -> None:
    x, y = data()
    models = [network() for _ in range(2)]
    companions = [Companion(model) for model in models]
    loss = widealign.mse(models[0](x), y)
    companions[0].step(loss)
    loss.backward()
    for half in (slice(0, 6), slice(6, 12)):
        (widealign.mse(models[1](x[half]), y[half]) / 2).backward()
    companions[1].step()
    for name, change in companions[0].changes().items():
        torch.testing.assert_close(change, companions[1].changes()[name])
    with pytest.raises(UsageError, match="no backward pass"):
        companions[0].step()


@pytest.mark.quick
def test_evaluation_and_the_live_network_are_left_alone() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    twin = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    twin.load_state_dict(model.state_dict())
    x, y = (t.float() for t in data())
    states = []
    for net, watched in ((model, True), (twin, False)):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        companion = Companion(net, optimizer) if watched else None
        torch.manual_seed(7)
        for _ in range(3):
            net.eval()
            net(x)  # an evaluation with gradients on is not a training pass
            net.train()
            optimizer.zero_grad()
            widealign.mse(net(x), y).backward()
            if companion is not None:
                companion.step()
            optimizer.step()
        states.append({**net.state_dict(), "random": torch.get_rng_state()})
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.quick
def test_dropout_masks_are_those_of_the_live_pass() -> None:
    """At the first step live and frozen network are one; with one mask, so are their gradients."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5), nn.Linear(50, 3))
    x, y = (t.float() for t in data())
    companion = Companion(model)
    widealign.mse(model(x), y).backward()
    companion.step()
    for name, p in model.named_parameters():
        assert p.grad is not None
        torch.testing.assert_close(companion.changes()[name], -p.grad)


@pytest.mark.quick
def test_state_goes_on_bit_for_bit() -> None:
    x, y = data()

    def run(pause: bool) -> dict[str, Tensor]:
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        companion = Companion(model, optimizer)
        for step in range(6):
            if pause and step == 3:
                saved = companion.state_dict()
                companion.close()
                companion = Companion(model, optimizer)
                companion.load_state_dict(saved)
            optimizer.zero_grad()
            widealign.mse(model(x), y).backward()
            companion.step()
            optimizer.step()
        return companion.changes()

    straight, resumed = run(pause=False), run(pause=True)
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


@pytest.mark.quick
def test_errors_name_the_remedy() -> None:
    with pytest.raises(UsageError, match="none of its parameters"):
        Companion(network(), torch.optim.SGD(network().parameters(), lr=1.0))
    with pytest.raises(UsageError, match="parameters that learn"):
        Companion(nn.ReLU())
    with pytest.raises(UsageError, match="follows"):
        Companion(network()).load_state_dict(Companion(nn.Linear(2, 2)).state_dict())


@pytest.mark.quick
def test_a_dropped_companion_and_its_graphs_are_freed() -> None:
    model = network()
    x, y = data()
    companion = Companion(model)
    output = model(x)
    widealign.mse(output, y).backward()
    seen = weakref.ref(companion), weakref.ref(output)
    del companion, output
    gc.collect()
    assert [ref() for ref in seen] == [None, None]
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


@pytest.mark.quick
@pytest.mark.parametrize(("half", "within"), [(torch.float16, 5e-4), (torch.bfloat16, 5e-3)])
def test_half_precision_changes_the_score_little(half: torch.dtype, within: float) -> None:
    torch.manual_seed(0)
    model = mlp(8, [64, 64], 3)
    x, y = torch.randn(40, 8), torch.randn(40, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    exact, low = Companion(model, optimizer), Companion(model, optimizer, half=half)
    for _ in range(10):
        optimizer.zero_grad()
        widealign.mse(model(x), y).backward()
        exact.step()
        low.step()
        optimizer.step()
    name = "layers.1.weight"
    assert low.weights[name].dtype is torch.float32
    scores = [score(*companion.pair(name)) for companion in (exact, low)]
    assert scores[0] == pytest.approx(scores[1], abs=within)
    assert scores[0] != scores[1]


@pytest.mark.quick
@pytest.mark.parametrize("size", [1e-12, 1e9])
def test_half_precision_takes_errors_of_any_size(size: float) -> None:
    torch.manual_seed(0)
    model, x = mlp(8, [32], 3), torch.randn(40, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1 / size)
    exact, low = Companion(model, optimizer), Companion(model, optimizer, half=torch.float16)
    (size * model(x).square().mean()).backward()
    exact.step()
    low.step()
    for name, change in exact.changes().items():
        assert score(change.view(1, -1), low.changes()[name].view(1, -1)) > 1 - 1e-5


@pytest.mark.quick
def test_a_pass_beyond_the_range_of_half_precision_is_repeated_in_full() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 3))
    with torch.no_grad():
        model[0].weight.mul_(1e5)
    exact, low = Companion(model), Companion(model, half=torch.float16)
    (1e-3 * model(torch.randn(40, 8)).square().mean()).backward()
    exact.step()
    low.step()
    for name, change in exact.changes().items():
        torch.testing.assert_close(low.changes()[name], change, rtol=1e-4, atol=0)
