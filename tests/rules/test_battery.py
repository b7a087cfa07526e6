"""What every registered rule must do, whatever it computes. A new rule is enrolled by being registered."""

import copy
import itertools
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.utils.flop_counter import FlopCounterMode

import widealign.rules
from rules.cases import mlp, squared
from rules.support import CHAINED, MASKS, RULES, assert_same_update, gradients, move

pytestmark = [pytest.mark.quick, pytest.mark.parametrize("rule", RULES)]


class Counted(nn.Module):
    """An identity that counts its calls."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x


def network() -> nn.Sequential:
    """Batch normalisation, dropout, an in-place activation: what easily goes wrong with a second pass."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(inplace=True), nn.Dropout(0.3), Counted(),
        nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2),
    )  # fmt: skip


def learner_of(rule: str, model: nn.Module | None = None, **options) -> widealign.rules.Learner:
    learner = widealign.rules.make(rule, network() if model is None else model, **options)
    move(learner.model)
    return learner


def batch(seed: int = 1) -> Tensor:
    return torch.randn(4, 3, generator=torch.Generator().manual_seed(seed))


def update(learner: nn.Module, x: Tensor) -> dict[str, Tensor]:
    learner.zero_grad(set_to_none=True)
    torch.manual_seed(MASKS)
    squared(learner(x)).backward()
    return gradients(learner.model)


@pytest.mark.parametrize("training", [True, False])
def test_values_running_statistics_and_random_state_are_the_models(rule: str, training: bool):
    learner = learner_of(rule).train(training)
    model = copy.deepcopy(learner.model)
    for step in range(3):
        torch.manual_seed(step)
        ours = learner(batch(step))
        after = torch.get_rng_state()
        torch.manual_seed(step)
        theirs = model(batch(step))
        assert torch.equal(ours, theirs)
        assert torch.equal(after, torch.get_rng_state())
        for (name, one), other in zip(learner.model.named_buffers(), model.buffers(), strict=True):
            assert torch.equal(one, other), f"{name} at step {step}"
    assert learner.model[1].num_batches_tracked == (3 if training else 0)


def test_without_gradients_it_is_one_pass(rule: str):
    learner = learner_of(rule)
    update(learner, batch())
    counted = learner.model[4]
    counted.calls = 0
    with torch.no_grad():
        learner(batch())
    assert counted.calls == 1
    learner.eval()(batch())
    assert counted.calls == 2


def test_gradients_accumulate(rule: str):
    separate, together = learner_of(rule).double(), learner_of(rule).double()
    parts = [update(separate, batch(seed).double()) for seed in (1, 2)]
    for seed in (1, 2):
        torch.manual_seed(MASKS)
        squared(together(batch(seed).double())).backward()
    summed = {name: parts[0][name] + parts[1][name] for name in parts[0]}
    assert_same_update(gradients(together.model), summed, rtol=1e-12)


def test_a_copy_learns_the_same_and_by_itself(rule: str):
    learner = learner_of(rule)
    update(learner, batch())
    twin, third = copy.deepcopy(learner), copy.deepcopy(learner)
    move(third.model, 1.0)
    update(third, batch())
    ours, theirs = update(learner, batch()), update(twin, batch())
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_it_can_be_pickled(rule: str):
    learner = learner_of(rule)
    update(learner, batch())
    twin = pickle.loads(pickle.dumps(learner))
    ours, theirs = update(learner, batch()), update(twin, batch())
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    pickle.dumps(learner.model)


def test_its_hooks_go_with_it(rule: str):
    learner = learner_of(rule)
    model = learner.model
    update(learner, batch())
    del learner
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_pruned_layer_stays_pruned(rule: str):
    """Hooks of others that run before a module's call make its weights: they are a part of the module."""
    learner, model = (mlp(nn.Tanh) for _ in range(2))
    model.load_state_dict(learner.state_dict())
    mask = (torch.rand(6, 4) > 0.4).float()
    for each in (learner, model):
        prune.custom_from_mask(each[2], "weight", mask)
    wrapped = widealign.rules.make(rule, learner)
    output, expected = wrapped(batch()), model(batch())
    assert torch.equal(output, expected)
    squared(output).backward()
    squared(expected).backward()
    if rule.startswith("align"):
        assert_same_update(gradients(learner), gradients(model), rtol=1e-5)
    if rule != "last-layer":
        assert torch.equal(learner[2].weight_orig.grad * mask, learner[2].weight_orig.grad)


def test_what_it_remembers_holds_no_gradients(rule: str):
    learner = learner_of(rule)
    update(learner, batch())
    own = {id(parameter) for parameter in learner.model.parameters()}
    assert {id(parameter) for parameter in learner.parameters()} == own
    assert not any(buffer.requires_grad or buffer.grad_fn for buffer in learner.buffers())


@pytest.mark.parametrize("scaler", [False, True], ids=["plain", "scaled"])
def test_autocast(rule: str, scaler: bool):
    torch.manual_seed(0)
    learner = learner_of(rule, mlp(nn.Tanh))
    exact = update(copy.deepcopy(learner), batch())
    scale = torch.amp.GradScaler("cpu", init_scale=2.0**10, enabled=scaler)
    optimizer = torch.optim.SGD(learner.model.parameters(), lr=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = learner(batch())
        loss = squared(output.float())
    assert output.dtype == torch.bfloat16
    scale.scale(loss).backward()
    scale.unscale_(optimizer)
    rounded = gradients(learner.model)
    assert set(rounded) == set(exact)
    for name, gradient in rounded.items():
        assert gradient.dtype == torch.float32
        assert (gradient - exact[name]).norm() < 0.05 * exact[name].norm() + 1e-4, name
    scale.step(optimizer)


def test_autocast_values_are_the_models(rule: str):
    learner = learner_of(rule)
    model = copy.deepcopy(learner.model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.manual_seed(MASKS)
        ours = learner(batch())
        torch.manual_seed(MASKS)
        assert torch.equal(ours, model(batch()))


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.5, nesterov=True),
        lambda p: torch.optim.Adam(p, lr=0.01),
        lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True),
        lambda p: torch.optim.RMSprop(p, lr=0.003),
    ],
    ids=["sgd", "adam", "adamw", "rmsprop"],
)
def test_any_optimizer_lowers_the_loss(rule: str, optimizer):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 30), nn.Tanh(), nn.Linear(30, 20), nn.Tanh(), nn.Linear(20, 2))
    learner = widealign.rules.make(rule, model)
    x = torch.randn(20, 3)
    y = x[:, :2].sin()
    step = optimizer(learner.parameters())
    losses = []
    for _ in range(30):
        step.zero_grad()
        loss = (learner(x) - y).square().mean()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_it_moves_to_another_dtype(rule: str):
    learner = learner_of(rule, mlp(nn.Tanh))
    update(learner, batch())
    learner.double()
    assert all(gradient.dtype == torch.float64 for gradient in update(learner, batch().double()).values())


def test_the_gradient_of_the_input_is_not_asked_for(rule: str):
    """An input that requires no gradient gets none, and one that does leaves the update as it is."""
    torch.manual_seed(0)
    learner = learner_of(rule, mlp(nn.Tanh)).double()
    x = batch().double()
    twin = copy.deepcopy(learner)
    assert_same_update(update(learner, x.requires_grad_()), update(twin, x.detach()), rtol=1e-12)


def test_passes_may_be_open_at_the_same_time(rule: str):
    """Two losses of two forward passes, added before one backward pass."""
    torch.manual_seed(0)
    learner = learner_of(rule, mlp(nn.Tanh)).double()
    one, other = copy.deepcopy(learner), learner
    parts = [update(one, batch(seed).double()) for seed in (1, 2)]
    (squared(other(batch(1).double())) + squared(other(batch(2).double()))).backward()
    assert_same_update(gradients(other.model), {n: parts[0][n] + parts[1][n] for n in parts[0]}, rtol=1e-12)


def test_the_model_by_itself_stays_an_ordinary_model(rule: str):
    learner = learner_of(rule).double()
    x = batch().double()
    update(learner, x)
    reference = network().double()
    reference.load_state_dict(learner.model.state_dict())
    learner.zero_grad(set_to_none=True)
    for model in (learner.model, reference):
        torch.manual_seed(MASKS)
        squared(model(x)).backward()
    assert_same_update(gradients(learner.model), gradients(reference), rtol=1e-12)


def test_backward_in_eval_mode_is_refused(rule: str):
    learner = learner_of(rule).eval()
    if rule == "normal":
        squared(learner(batch())).backward()
        assert gradients(learner.model)
        return
    with pytest.raises(
        widealign.errors.UsageError, match=r"eval mode, where it does not learn: call learner.train\(\)"
    ):
        squared(learner(batch())).backward()


def test_an_interrupted_pass_leaves_no_trace(rule: str):
    class Sometimes(nn.Module):
        broken = False

        def forward(self, x: Tensor) -> Tensor:
            if self.broken:
                raise KeyboardInterrupt
            return x

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), Sometimes(), nn.Linear(4, 2))
    learner = learner_of(rule, model).double()
    twin = copy.deepcopy(learner)
    twin(batch().double())  # rules that redraw their feedback count a pass that does not come to its end
    expected = update(twin, batch().double())
    model[2].broken = True
    with pytest.raises(KeyboardInterrupt):
        learner(batch().double())
    model[2].broken = False
    assert_same_update(update(learner, batch().double()), expected, rtol=1e-12)


def flops(learner: nn.Module, x: Tensor) -> int:
    squared(learner(x)).backward()  # the first pass may look around
    with FlopCounterMode(display=False) as counter:
        squared(learner(x)).backward()
    return counter.get_total_flops()


SIZES = (7, 5, 6, 4)
BATCH = 8


def test_it_does_no_work_that_nobody_needs(rule: str):
    """Counted in multiplications of the MLP 7-5-6-4: forward, weight gradients, and what carries the error."""
    torch.manual_seed(0)
    layers = [nn.Linear(fan_in, fan_out) for fan_in, fan_out in itertools.pairwise(SIZES)]
    model = nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
    products = [2 * BATCH * fan_in * fan_out for fan_in, fan_out in itertools.pairwise(SIZES)]
    forward = weights = sum(products)
    back = sum(products[1:])
    expected = {
        **dict.fromkeys(["normal", *CHAINED], forward + weights + back),
        "align-ada": 2 * forward + weights + back,
        "align-zero": 2 * forward + weights + back,
        "dfa": forward + weights + 2 * BATCH * SIZES[-1] * (SIZES[1] + SIZES[2]),
        "last-layer": forward + products[-1],
    }
    assert flops(widealign.rules.make(rule, model), torch.randn(BATCH, SIZES[0])) <= expected[rule]
