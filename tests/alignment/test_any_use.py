"""Models, loops and inputs of all kinds around the monitor, the companion and the scores."""

import copy
import json
import math
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import widealign
from widealign.alignment import Companion, Images, drift, regime, score, score_images, score_probe, score_sketched
from widealign.errors import Diverged, UsageError
from widealign.models import mlp
from widealign.theory import linearize, ntk

pytestmark = pytest.mark.quick


class Wrapping(nn.Module):
    """A user's model that has a part called `model`."""

    def __init__(self) -> None:
        super().__init__()
        self.model, self.head = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.model(x).tanh())


def test_a_part_called_model_is_not_taken_for_the_model():
    net = Wrapping().double()
    assert set(Companion(net).parameters) == {"model.weight", "model.bias", "head.weight", "head.bias"}
    x = torch.randn(3, 4, dtype=torch.float64)
    rows = [torch.autograd.grad(out, list(net.parameters()), retain_graph=True) for out in net(x).flatten()]
    jacobian = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    expected = (jacobian @ jacobian.mT).view(3, 4, 3, 4).permute(0, 2, 1, 3)
    torch.testing.assert_close(ntk(net, x), expected)
    assert {row.name for row in regime(widealign.AlignAda(net), x).rows} == {"model.weight", "head.weight"}


@pytest.mark.parametrize("order", ["before", "after", "pending"])
@pytest.mark.parametrize(("rule", "expected"), [("normal", 1.0), ("align-prop", None)])
def test_cosines_do_not_depend_on_when_the_monitor_is_called(order, rule, expected):
    def found(order):
        torch.manual_seed(0)
        model = mlp(6, [16, 16], 3, activation="tanh").double()
        learner = widealign.rules.make(rule, model)
        optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
        monitor = widealign.AlignmentMonitor(learner, optimizer, every=5, drift_every=5)
        x, y = torch.randn(9, 6).double(), torch.randn(9, 3).double()
        for _ in range(10):
            loss = widealign.mse(learner(x), y)
            optimizer.zero_grad()
            if order == "pending":
                monitor.step(x, y, loss)
            loss.backward()
            if order == "before":
                monitor.step(x, y, loss)
            optimizer.step()
            if order == "after":
                monitor.step(x, y, loss)
        monitor.close()
        return [record["cosine"] for record in monitor.latest]

    cosines = found(order)
    assert cosines == pytest.approx(found("before"), abs=1e-12)
    if expected is not None:
        assert cosines == pytest.approx([expected] * 3, abs=1e-12)


def test_measuring_draws_no_random_numbers():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    learner, x = widealign.AlignAda(net), torch.randn(5, 4)
    before = torch.get_rng_state()
    regime(learner, x)
    drift(learner, {}, x, generator=torch.Generator())
    assert torch.equal(torch.get_rng_state(), before)


def test_an_input_that_cannot_move_has_not_moved():
    net = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 2))
    found = regime(widealign.AlignAda(net), torch.randint(7, (5,)))
    assert (found.rows[0].activity, found.words) == (0.0, "as at the start")


def test_regime_tells_cosine_and_angle_and_leaves_the_learner_alone(capsys):
    torch.manual_seed(0)
    learner = widealign.AlignProp(mlp(4, [32], 3), refresh=3)
    x = torch.randn(6, 4)
    first = regime(learner, x)
    assert [row.cosine for row in first.rows] == pytest.approx([1.0, 1.0], abs=1e-6)
    assert [row.angle for row in first.rows] == pytest.approx([0.0, 0.0], abs=0.05)
    assert learner.passes == 0
    with torch.no_grad():
        for p in learner.model.parameters():
            p.add_(torch.randn_like(p))
    later = regime(learner, x)
    assert 0 < later.rows[0].cosine < 0.999
    assert 20 < later.rows[1].angle < 70
    assert str(later) in capsys.readouterr().out
    with pytest.raises(UsageError, match="needs a model with a weight matrix"):
        regime(widealign.AlignAda(nn.LayerNorm(4)), x)


@pytest.mark.parametrize("scale", [1.0, 1024.0])
def test_a_gradient_scaler_does_not_change_the_companion(scale):
    torch.manual_seed(0)
    model, x, y = mlp(4, [8], 2).double(), torch.randn(6, 4).double(), torch.randn(6, 2).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    companion = Companion(model, optimizer)
    for step in range(4):
        optimizer.zero_grad()
        factor = math.inf if step == 2 and scale != 1 else scale
        (factor * widealign.mse(model(x), y)).backward()
        companion.step(scale=factor)
        for p in model.parameters():
            p.grad /= factor
        if not math.isinf(factor):
            optimizer.step()
    steps = 4 if scale == 1 else 3
    torch.manual_seed(0)
    plain, x, y = mlp(4, [8], 2).double(), torch.randn(6, 4).double(), torch.randn(6, 2).double()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.5)
    reference = Companion(plain, optimizer)
    for _ in range(steps):
        optimizer.zero_grad()
        widealign.mse(plain(x), y).backward()
        reference.step()
        optimizer.step()
    for name, change in reference.changes().items():
        torch.testing.assert_close(companion.changes()[name], change)


def block_diagonal(kernel, groups):
    """The matrix of a grouped convolution on one patch: a block for each group."""
    return torch.block_diag(*kernel.flatten(1).chunk(groups))


@pytest.mark.parametrize("groups", [2, 8])
def test_the_score_of_a_grouped_convolution_is_that_of_its_whole_matrix(groups):
    a, b = (torch.randn(8, 8 // groups, 3, 3, dtype=torch.float64) for _ in range(2))
    expected = score(block_diagonal(a, groups), block_diagonal(b, groups))
    assert score(a, b, groups=groups) == pytest.approx(expected)
    assert abs(score(a, b) - expected) > 0.01
    with pytest.raises(UsageError, match="groups= must divide the 8 outputs"):
        score(a, b, groups=3)


def one_step_scores(model, x, steps=8):
    """Scores of the layers, by a monitor, after some steps of a regression."""
    torch.manual_seed(1)
    learner = widealign.Normal(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    monitor = widealign.AlignmentMonitor(learner, optimizer, every=steps, drift_every=0, precision="float32")
    out = model(x)
    y = torch.randn(out.shape, dtype=out.dtype)
    for _ in range(steps):
        optimizer.zero_grad()
        widealign.mse(learner(x), y).backward()
        monitor.step()
        optimizer.step()
    return [record["score"] for record in monitor.latest]


def test_an_embedding_scores_as_the_same_linear_map_of_one_hot_inputs():
    torch.manual_seed(0)
    embedding = nn.Sequential(nn.Embedding(12, 6), nn.Tanh(), nn.Linear(6, 3)).double()
    linear = nn.Sequential(nn.Linear(12, 6, bias=False), nn.Tanh(), nn.Linear(6, 3)).double()
    with torch.no_grad():
        linear[0].weight.copy_(embedding[0].weight.mT)
        linear[2].load_state_dict(embedding[2].state_dict())
    x = torch.randint(12, (30,))
    expected = one_step_scores(linear, nn.functional.one_hot(x, 12).double())
    assert one_step_scores(embedding, x) == pytest.approx(expected)


def test_a_transposed_convolution_of_one_pixel_scores_as_the_same_linear_map():
    torch.manual_seed(0)
    transposed = nn.Sequential(
        nn.ConvTranspose2d(5, 4, 2, bias=False), nn.Tanh(), nn.Flatten(), nn.Linear(16, 2)
    ).double()
    linear = nn.Sequential(nn.Linear(5, 16, bias=False), nn.Tanh(), nn.Linear(16, 2)).double()
    with torch.no_grad():
        linear[0].weight.copy_(transposed[0].weight.flatten(1).mT)
        linear[2].load_state_dict(transposed[3].state_dict())
    x = torch.randn(9, 5, dtype=torch.float64)
    assert one_step_scores(transposed, x[:, :, None, None]) == pytest.approx(one_step_scores(linear, x))


def test_scores_take_what_arrays_come_and_say_what_is_wrong():
    a = np.random.RandomState(0).normal(size=(4, 3, 3, 3))
    images = Images(height=6, width=6)
    for of in (score, score_sketched, lambda *both, **how: score_images(*both, images, **how)):
        assert of(a, torch.from_numpy(a).float()) == pytest.approx(1.0, abs=1e-5)
        with pytest.raises(Diverged, match="of layer 'conv' must be finite"):
            of(a, a * math.nan, layer="conv")
        with pytest.raises(UsageError, match="must have one shape"):
            of(a, a[:2])
        with pytest.raises(UsageError, match="must be real"):
            of(a, a * 1j)
        with pytest.raises(UsageError, match="a tensor or an array of numbers"):
            of("abc", a)
    assert score_probe(a, a.astype("float32"), rounds=5).value == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(UsageError, match="a stride of 1 or more"):
        Images(height=6, width=6, stride=0)


@pytest.mark.parametrize("size", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_sketch_takes_any_type_and_size(dtype, size):
    change = (torch.randn(60, 50) * size).to(dtype)
    assert score_sketched(change, change) == pytest.approx(1.0, abs=1e-5)


def test_a_network_that_diverges_is_null_in_the_log_and_goes_on(tmp_path):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    monitor = widealign.AlignmentMonitor(model, optimizer, every=1, drift_every=0, log=tmp_path / "log")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            model(torch.randn(4, 3)).sum().backward()
            monitor.step()
            model.weight.grad.fill_(math.nan)
            optimizer.step()
    assert [json.loads(line)["score"] for line in (tmp_path / "log").read_text().splitlines()] == [None] * 3
    assert sum("training has diverged" in str(w.message) for w in caught) == 1


def test_an_optimizer_that_cannot_be_followed_is_refused():
    model = nn.Linear(3, 2)
    with pytest.raises(UsageError, match="LBFGS"):
        Companion(model, torch.optim.LBFGS(model.parameters()))


def test_kernels_say_what_network_they_need():
    x = torch.randn(4, 3)
    with pytest.raises(UsageError, match="draw at random in training mode"):
        ntk(nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2)), x)
    with pytest.raises(UsageError, match="outputs"):
        ntk(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), x)
    with pytest.raises(UsageError, match="targets= must have the shape"):
        linearize(nn.Linear(3, 2), x, torch.randn(4), x)


def test_linearizing_leaves_running_statistics_alone():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    before = copy.deepcopy(model.state_dict())
    linearize(model, torch.randn(6, 3), torch.randn(6, 2), torch.randn(5, 3))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_normaliser_without_running_statistics_couples_examples_in_evaluation_too():
    torch.manual_seed(0)
    model = (
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 1)).double().eval()
    )
    x = torch.randn(5, 3, dtype=torch.float64)
    rows = [torch.autograd.grad(out, list(model.parameters()), retain_graph=True) for out in model(x)[:, 0]]
    jacobian = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    torch.testing.assert_close(ntk(model, x, outputs="trace"), jacobian @ jacobian.mT)


def test_sparse_gradients_have_cosines():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Flatten(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = widealign.AlignmentMonitor(model, optimizer, every=1, drift_every=1)
    loss = model(torch.tensor([[0, 1], [2, 3]])).square().mean()
    loss.backward()
    monitor.step()
    optimizer.step()
    assert [record["cosine"] for record in monitor.latest] == pytest.approx([1.0, 1.0])
