import math

import pytest
import torch
from torch import nn

from widealign.config import RunConfig
from widealign.train.optimizers import TensorFlowAdam, make_optimizer, make_schedule

pytestmark = pytest.mark.quick


def _config(**settings) -> RunConfig:
    return RunConfig(**{"task": "cifar10", "rule": "normal", "width": 8, "lr": 0.1} | settings)


def test_tensorflows_adam_is_its_published_update():
    gradients = [3e-9, -2e-7, 5.0, 0.0, 1e-3]
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = TensorFlowAdam([weight], lr=0.1)
    w = m = v = 0.0
    for t, g in enumerate(gradients, 1):
        weight.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w -= 0.1 * math.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (math.sqrt(v) + 1e-8)
        assert weight.item() == pytest.approx(w, rel=1e-12)


def test_tensorflows_adam_goes_on_from_its_state():
    def steps(optimizer, weight, gradients):
        for g in gradients:
            weight.grad = torch.tensor([g])
            optimizer.step()

    whole, half = (torch.zeros(1, requires_grad=True) for _ in range(2))
    steps(TensorFlowAdam([whole], lr=0.1), whole, [1.0, -2.0, 3.0, 4.0])
    first = TensorFlowAdam([half], lr=0.1)
    steps(first, half, [1.0, -2.0])
    second = TensorFlowAdam([half], lr=0.5)
    second.load_state_dict(first.state_dict())
    steps(second, half, [3.0, 4.0])
    assert torch.equal(whole, half)


def test_weight_decay_joins_the_gradient():
    decayed, plain = (torch.full((1,), 2.0, requires_grad=True) for _ in range(2))
    decayed.grad, plain.grad = torch.tensor([0.3]), torch.tensor([0.3 + 0.5 * 2.0])
    TensorFlowAdam([decayed], lr=0.1, weight_decay=0.5).step()
    TensorFlowAdam([plain], lr=0.1).step()
    assert torch.equal(decayed, plain)


@pytest.mark.parametrize(
    ("name", "protocol", "kind"),
    [
        ("sgd", "paper", torch.optim.SGD),
        ("momentum", "paper", torch.optim.SGD),
        ("adam", "paper", TensorFlowAdam),
        ("adam", "sound", torch.optim.Adam),
        ("adamw", "sound", torch.optim.AdamW),
    ],
)
def test_names(name, protocol, kind):
    config = _config(optimizer=name, protocol=protocol, momentum=0.7, weight_decay=0.01)
    optimizer = make_optimizer(config, nn.Linear(2, 2).parameters())
    assert type(optimizer) is kind
    group = optimizer.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.1, 0.01)
    assert group.get("momentum", 0) == (0.7 if name == "momentum" else 0)


def test_parameters_that_do_not_learn_are_left_out():
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad_(False)
    (group,) = make_optimizer(_config(), layer.parameters()).param_groups
    assert group["params"] == [layer.bias]


@pytest.mark.parametrize(("name", "expected"), [("cosine", [1.0, 0.5, 0.0]), ("linear", [1.0, 0.5, 0.0])])
def test_schedules_fall_from_one_to_zero(name, expected):
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=2.0)
    schedule = make_schedule(_config(schedule=name), optimizer, steps=4)
    rates = []
    for _ in range(5):
        rates.append(optimizer.param_groups[0]["lr"] / 2.0)
        optimizer.step()
        schedule.step()
    assert rates[::2] == pytest.approx(expected)
    quarter = 0.5 * (1 + math.cos(math.pi / 4)) if name == "cosine" else 0.75
    assert rates[1] == pytest.approx(quarter)
    assert make_schedule(_config(), optimizer, steps=4) is None
