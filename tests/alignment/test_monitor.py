"""The monitor in a user's own loop, and the table of regimes."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import widealign
from widealign import AlignmentMonitor
from widealign.alignment import drift, score
from widealign.errors import UsageError
from widealign.models import mlp
from widealign.rules import make


def train(monitor_of: Any, rule: str = "normal", steps: int = 20, width: int = 16) -> Any:
    torch.manual_seed(0)
    model = mlp(6, [width, width], 3, activation="tanh").double()
    learner = make(rule, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    monitor = monitor_of(learner, optimizer)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(10, 6, generator=generator, dtype=torch.float64)
    y = torch.randn(10, 3, generator=generator, dtype=torch.float64)
    for _ in range(steps):
        loss = widealign.mse(learner(x), y)
        optimizer.zero_grad()
        loss.backward()
        monitor.step(x, y, loss)
        optimizer.step()
    return monitor, learner, x


class Board:
    """Stands for a TensorBoard writer."""

    def __init__(self) -> None:
        self.scalars: dict[tuple[str, int], float] = {}

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars[name, step] = value


@pytest.mark.quick
def test_records_reach_the_file_the_function_and_tensorboard(tmp_path: Path) -> None:
    log, board, got = tmp_path / "metrics.jsonl", Board(), []
    monitor, *_ = train(lambda *a: AlignmentMonitor(*a, every=10, drift_every=20, log=log, writer=board))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["kind"], line["step"], line["layer"]) for line in lines] == [
        ("alignment", step, layer) for step in (10, 20) for layer in (1, 2, 3)
    ]
    assert lines[-3:] == monitor.latest
    assert board.scalars["alignment/layers.1.weight/score", 20] == lines[-2]["score"]
    assert "jacobian_change" not in lines[0]
    assert {"jacobian_change", "activity_change", "cosine"} <= lines[-1].keys()
    train(lambda *a: AlignmentMonitor(*a, every=10, drift_every=0, log=got.append))
    assert [record["score"] for record in got] == [line["score"] for line in lines]


@pytest.mark.quick
@pytest.mark.parametrize("first", ["monitor", "optimizer"])
def test_network_and_companion_are_compared_after_as_many_updates(first: str) -> None:
    """After one step of descent from W(0) the two changes are one, so the score is 1; a step apart it would be nan."""
    torch.manual_seed(0)
    model = mlp(6, [5], 3).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    monitor = AlignmentMonitor(model, optimizer, every=1, drift_every=0)
    x = torch.randn(10, 6, dtype=torch.float64)
    order = [monitor, optimizer] if first == "monitor" else [optimizer, monitor]
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        for one in order:
            one.step()
        learned, changes = monitor.companion.learned(), monitor.companion.changes()
        assert [r["score"] for r in monitor.latest] == [
            score(learned[r["name"]], changes[r["name"]]) for r in monitor.latest
        ]
        if monitor.steps == 1:
            assert [r["score"] for r in monitor.latest] == pytest.approx([1.0, 1.0], abs=1e-12)
    assert monitor.latest[0]["score"] < 1 - 1e-6


@pytest.mark.quick
def test_without_an_optimizer_the_measurement_waits_for_the_next_step() -> None:
    torch.manual_seed(0)
    model, x = mlp(6, [5], 3), torch.randn(10, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    monitor = AlignmentMonitor(model, every=1, drift_every=0, precision="float32")
    found = []
    for _ in range(2):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        found.append(monitor.step())
        optimizer.step()
    assert found[0] == []
    assert [record["score"] for record in found[1]] == pytest.approx([1.0, 1.0], abs=1e-5)


@pytest.mark.quick
def test_cosine_and_angle_say_how_far_a_rule_is_from_backpropagation() -> None:
    last = {}
    for rule in ("normal", "align-prop", "fa", "align-zero"):
        monitor, *_ = train(lambda *a: AlignmentMonitor(*a, every=20, drift_every=20), rule)
        last[rule] = monitor.latest
    assert [record["cosine"] for record in last["normal"]] == pytest.approx([1.0] * 3)
    assert "angle" not in last["normal"][0]
    assert 0.5 < last["align-prop"][0]["cosine"] < 1 - 1e-6
    assert last["fa"][0]["cosine"] < 0.6
    assert 60 < last["fa"][1]["angle"] < 120
    assert 0 < last["align-prop"][1]["angle"] < 30
    assert [record["score"] for record in last["align-zero"]] == pytest.approx([1.0] * 3, abs=1e-5)


@pytest.mark.quick
def test_drift_is_the_relative_change_of_activities_and_of_the_whole_jacobian() -> None:
    monitor, learner, x = train(lambda *a: AlignmentMonitor(*a), steps=15)
    model, initial = learner.model, monitor.companion.initial
    found = drift(learner, initial, x, probes=3000, generator=torch.Generator().manual_seed(0))

    def second(theta: dict[str, Tensor], shift: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(x @ theta["layers.0.weight"].mT / math.sqrt(6) + theta["layers.0.bias"])
        z = h @ theta["layers.1.weight"].mT / 4 + theta["layers.1.bias"] + shift
        out = torch.tanh(z) @ theta["readout.weight"].mT / 4 + theta["readout.bias"]
        return h, out

    live, zero = dict(model.named_parameters()), torch.zeros(10, 16, dtype=torch.float64)
    activity = [second(theta, zero)[0] for theta in (live, initial)]
    jacobian = [
        torch.func.jacrev(lambda shift, theta=theta: second(theta, shift)[1])(zero) for theta in (live, initial)
    ]
    exact = [((a - b).norm() / b.norm()).item() for a, b in (activity, jacobian)]
    assert found["layers.1"].activity == pytest.approx(exact[0], rel=1e-9)
    assert found["layers.1"].jacobian == pytest.approx(exact[1], rel=0.03)
    assert found["layers.0"].activity == 0.0


@pytest.mark.quick
def test_drift_leaves_the_network_alone() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    initial = {name: p.detach().clone() for name, p in model.named_parameters()}
    before, x = {k: v.clone() for k, v in model.state_dict().items()}, torch.randn(16, 4)
    found = drift(model, initial, x)
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    assert {(d.activity, d.jacobian) for d in found.values()} == {(0.0, 0.0)}  # the same masks in both passes
    assert all(p.grad is None for p in model.parameters())


def test_the_regime_is_wider_in_wider_networks() -> None:
    tables = {width: train(lambda *a: AlignmentMonitor(*a), width=width) for width in (8, 2048)}
    narrow, wide = (tables[width][0].regime(tables[width][2]) for width in (8, 2048))
    assert wide.words == "nearly wide: small corrections"
    assert narrow.words == "rich: features are learned"
    text = str(wide)
    assert "layers.1.weight" in text
    assert text.splitlines()[-1] == "the network: nearly wide: small corrections"
    assert wide.rows[1].weight < narrow.rows[1].weight


@pytest.mark.quick
def test_regime_takes_initial_weights_from_the_learner_or_from_the_user() -> None:
    _, learner, x = train(lambda *a: AlignmentMonitor(*a), "align-ada")
    assert widealign.regime(learner, x).rows[0].weight > 0
    _, plain, x = train(lambda *a: AlignmentMonitor(*a))
    with pytest.raises(UsageError, match="initial="):
        widealign.regime(plain, x)
    begin = {name: p.detach().clone() for name, p in plain.model.named_parameters()}
    assert widealign.regime(plain, x, initial=begin).words == "as at the start"


@pytest.mark.quick
def test_monitoring_changes_nothing_and_resumes() -> None:
    class Nothing:
        def __init__(self, *args: Any) -> None: ...

        def step(self, *args: Any) -> None: ...

    watched = train(lambda *a: AlignmentMonitor(*a, every=3, drift_every=6))[1]
    alone = train(Nothing)[1]
    for (name, a), (_, b) in zip(watched.state_dict().items(), alone.state_dict().items(), strict=True):
        assert torch.equal(a, b), name
    first, learner, x = train(lambda *a: AlignmentMonitor(*a, every=5))
    second = AlignmentMonitor(learner, every=5)
    second.load_state_dict(first.state_dict())
    assert second.steps == 20
    assert str(second.regime(x)) == str(first.regime(x))
    with pytest.raises(UsageError, match="every="):
        AlignmentMonitor(learner, every=0)


@pytest.mark.quick
def test_adaptive_optimizers_get_a_companion_in_full_precision() -> None:
    model = mlp(4, [5], 2)
    adam = AlignmentMonitor(model, torch.optim.Adam(model.parameters()))
    assert adam.companion.half is None
    chosen = AlignmentMonitor(model, torch.optim.Adam(model.parameters()), precision="float16")
    assert chosen.companion.half is torch.float16
    with pytest.raises(UsageError, match=r"precision= is one of .*'float8'"):
        AlignmentMonitor(model, precision="float8")  # type: ignore[arg-type]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("fast", "width", "half"),
    [
        ({"amx_fp16": True, "amx_bf16": True}, 8, torch.float16),
        ({"avx512_bf16": True}, 32, torch.bfloat16),
        ({"amx_bf16": True}, 31, None),
        ({"avx512_f": True}, 32, None),
    ],
)
def test_the_precision_is_what_the_hardware_is_fast_in(fast, width, half, monkeypatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: fast)
    model = mlp(4, [width, width], 2)
    monitor = AlignmentMonitor(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert monitor.companion.half is half


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_align_zero_of_a_convolutional_network_is_its_own_companion(optimizer: str) -> None:
    """With the monitor's own choice of precision; the paper's narrow networks are the most sensitive to rounding."""
    torch.manual_seed(0)
    model = widealign.models.cifar_cnn(8)
    make_optimizer = {"sgd": lambda p: torch.optim.SGD(p, lr=0.5), "adam": lambda p: torch.optim.Adam(p, lr=0.01)}
    updates = make_optimizer[optimizer](model.parameters())
    learner = make("align-zero", model)
    monitor = AlignmentMonitor(learner, updates, every=5, drift_every=0)
    x, y = torch.rand(30, 3, 32, 32), torch.randn(30, 10)
    for _ in range(5):
        updates.zero_grad()
        widealign.mse(learner(x), y).backward()
        monitor.step()
        updates.step()
    assert [record["score"] for record in monitor.latest] == pytest.approx([1.0] * 8, abs=0.02)
