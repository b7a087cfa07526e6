"""A second pass, through the initial network or with substitute weights, finds everything as the first one found it."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize

import widealign
import widealign.rules
from rules.cases import squared
from rules.support import ALIGN, RULES, assert_same_update, gradients, move
from widealign.errors import RefusedModel

pytestmark = pytest.mark.quick


class Counting(nn.Module):
    """Anneals by a counter of its own, in the model and inside a site that is the user's."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.calls = nn.Linear(5, 4), CountingSite(), 0

    def forward(self, x):
        self.calls += 1
        return self.second(self.first(x).tanh()) / self.calls


class CountingSite(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.gate, self.calls = nn.Parameter(torch.randn(4, 2)), nn.Tanh(), 0

    def forward(self, h):
        self.calls += 1
        return self.gate(h @ self.weight / self.calls)


class OwnGenerator(nn.Module):
    """Draws its masks from a generator that it keeps."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 8), nn.Linear(8, 2)
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x):
        h = self.first(x).tanh()
        return self.second(h * (torch.rand(h.shape, generator=self.generator) < 0.5))


class Shifting(nn.Module):
    """Changes whole numbers and masks in place, and takes an entry out of a dict."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(9, 4), nn.Linear(4, 2)

    def forward(self, batch):
        batch["ids"] += 1
        batch["mask"].logical_not_()
        h = self.embed(batch["ids"]).tanh() * batch.pop("mask")[..., None]
        return self.out(h.sum(1))


def floats() -> Tensor:
    return torch.randn(3, 5)


def ids() -> dict[str, Tensor]:
    return {"ids": torch.tensor([[0, 1], [2, 3]]), "mask": torch.tensor([[True, False], [False, False]])}


STATEFUL = [(Counting, floats), (OwnGenerator, floats), (Shifting, ids)]


def steps(rule: str, network: type[nn.Module], batch: Callable[[], object], **options: int) -> list[dict[str, Tensor]]:
    """The gradients of three steps that move the weights, each from outputs that must be the model's own."""
    found = []
    torch.manual_seed(0)
    model, twin = network(), network()
    twin.load_state_dict(model.state_dict())
    learner = widealign.rules.make(rule, model, **options)
    for step in range(3):
        torch.manual_seed(step)
        output = learner(batch())
        torch.manual_seed(step)
        assert torch.equal(output, twin(batch()))
        learner.zero_grad(set_to_none=True)
        squared(output).backward()
        found.append(gradients(model))
        for each in (model, twin):
            move(each, 0.1, seed=step)
    return found


@pytest.mark.parametrize(("network", "batch"), STATEFUL)
@pytest.mark.parametrize("rule", ALIGN)
def test_with_a_fresh_snapshot_at_every_step_it_is_backpropagation(rule, network, batch):
    for ours, theirs in zip(steps(rule, network, batch, refresh=1), steps("normal", network, batch), strict=True):
        assert_same_update(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(("network", "batch"), STATEFUL)
@pytest.mark.parametrize("rule", sorted({*RULES} - {*ALIGN}))
def test_values_are_the_models_for_every_rule(rule, network, batch):
    steps(rule, network, batch)


@pytest.mark.parametrize("rule", ["align-zero", "align-ada", "align-prop", "fa", "usf"])
def test_what_parametrize_caches_of_the_live_weights_is_not_feedback(rule):
    def update(cached: bool) -> dict[str, Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), parametrizations.weight_norm(nn.Linear(4, 2)))
        learner = widealign.rules.make(rule, model)
        move(model)
        x = torch.randn(3, 5)
        if cached:
            with parametrize.cached():
                squared(learner(x)).backward()
                assert torch.equal(learner(x), model(x))
        else:
            squared(learner(x)).backward()
        return gradients(model)

    assert_same_update(update(cached=True), update(cached=False), rtol=1e-6)


class LossInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.out = nn.Linear(5, 6), nn.Linear(6, 2)

    def forward(self, x, labels):
        f = self.out(self.first(x).tanh())
        return {"loss": F.mse_loss(f, labels), "logits": f}


@pytest.mark.parametrize("rule", ["align-ada", "align-zero"])
def test_a_loss_inside_the_model_is_refused_where_its_error_would_be_the_initial_networks(rule):
    learner = widealign.rules.make(rule, LossInside())
    with pytest.raises(RefusedModel, match=r"returns a number for the whole batch.*compute the loss outside"):
        learner(torch.randn(3, 5), labels=torch.randn(3, 2))


@pytest.mark.parametrize("rule", ["align-prop", "fa", "last-layer"])
def test_a_loss_inside_the_model_gives_the_same_update_where_its_error_is_live(rule):
    found = []
    for inside in (True, False):
        torch.manual_seed(0)
        model, x, labels = LossInside(), torch.randn(3, 5), torch.randn(3, 2)
        learner = widealign.rules.make(rule, model)
        move(model)
        output = learner(x, labels=labels)
        (output["loss"] if inside else F.mse_loss(output["logits"], labels)).backward()
        found.append(gradients(model))
    assert_same_update(*found, rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_a_module_that_owns_its_weight_beside_a_gate_is_a_site(rule):
    learner = widealign.rules.make(rule, nn.Sequential(nn.Linear(5, 4), CountingSite()))
    assert [site.name for site in learner.sites] == ["0", "1"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripts_are_refused():
    model = nn.Sequential(torch.jit.script(nn.Linear(5, 4)), nn.Linear(4, 2))
    with pytest.raises(RefusedModel, match=r"'0' is a script of torch\.jit"):
        widealign.AlignAda(model)


@pytest.mark.parametrize("rule", ["fa", "dfa", "frsf", "brsf"])
def test_a_seed_of_numpys_is_the_same_seed(rule, tmp_path):
    found = []
    for seed in (3, np.int64(3)):
        torch.manual_seed(0)
        learner = widealign.rules.make(rule, nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)), seed=seed)
        squared(learner(torch.ones(3, 5))).backward()
        found.append(gradients(learner.model))
        torch.save(learner.state_dict(), tmp_path / "state.pt")
        torch.load(tmp_path / "state.pt", weights_only=True)
    assert_same_update(*found, rtol=0.0)


def test_the_next_magnitudes_of_brsf_can_be_looked_at_before_the_first_pass():
    torch.manual_seed(0)
    learner = widealign.BRSF(nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)))
    before = learner.feedback
    learner(torch.ones(3, 5))
    assert all(torch.equal(before[name], tensor) for name, tensor in learner.feedback.items())
