"""Updates without autograd: Align-ada in place, Align-zero as a sum over examples."""

import pytest
import torch
from torch import nn

import widealign.rules
from fast.support import BATCH, EXAMPLES, convolutions, images, ntk_mlp, pair, vectors
from widealign import models, mse
from widealign.errors import RefusedModel, UsageError
from widealign.fast import DualAlignZero, InPlaceAlignAda

MODELS = {
    "ntk": ntk_mlp,
    "standard": lambda: nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 4, bias=False), nn.Linear(4, 2)),
    "model": lambda: models.mlp(3, [6, 5], 2),
}
TARGETS = torch.linspace(-1, 1, 2 * EXAMPLES, dtype=torch.float64).view(EXAMPLES, 2)


def orders(steps: int):
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(EXAMPLES, (BATCH,), generator=generator) for _ in range(steps)]


def train_plainly(learner, x, steps: int, **optimizer) -> None:
    sgd = torch.optim.SGD(learner.model.parameters(), **optimizer)
    for index in orders(steps):
        sgd.zero_grad()
        mse(learner(x[index]), TARGETS[index]).backward()
        sgd.step()


def assert_same_weights(one: nn.Module, other: nn.Module, tolerance: float) -> None:
    for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
        assert (a - b).abs().max() <= tolerance * b.abs().max().clamp(min=1), name


@pytest.mark.quick
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_dual_form_follows_the_ordinary_one_for_500_steps(model: str, momentum: float):
    plain, learner = pair(MODELS[model], "align-zero")
    x, lr = vectors(), 0.02
    start = [p.detach().clone() for p in learner.parameters()]
    train_plainly(plain, x, 500, lr=lr, momentum=momentum)
    dual = DualAlignZero(learner, x, lr=lr, momentum=momentum)
    for index in orders(500):
        mse(dual(index=index), TARGETS[index]).backward()
        dual.step()
    assert all(torch.equal(p, q) for p, q in zip(start, learner.parameters(), strict=True))
    value = dual(x)
    assert_same_weights(dual.materialise(), plain.model, 1e-9)
    assert torch.allclose(value, plain.model(x), rtol=1e-9, atol=1e-9)
    assert not torch.allclose(start[0], plain.model.get_parameter(next(iter(dict(plain.model.named_parameters())))))


@pytest.mark.quick
def test_training_goes_on_after_materialising():
    plain, learner = pair(ntk_mlp, "align-zero")
    x = vectors()
    train_plainly(plain, x, 20, lr=0.05)
    dual = DualAlignZero(learner, x, lr=0.05)
    for step, index in enumerate(orders(20)):
        mse(dual(index=index), TARGETS[index]).backward()
        dual.step()
        if step == 9:
            dual.materialise()
    assert_same_weights(dual.materialise(), plain.model, 1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("model", MODELS)
def test_update_in_place_is_that_of_sgd(model: str):
    plain, learner = pair(MODELS[model])
    x = vectors()
    train_plainly(plain, x, 50, lr=0.02)
    trainer = InPlaceAlignAda(learner, lr=0.02)
    for index in orders(50):
        output = trainer(x[index], index=index)
        assert torch.equal(output, learner.model(x[index]))
        mse(output, TARGETS[index]).backward()
        trainer.step()
    assert_same_weights(learner.model, plain.model, 1e-12)
    assert all(p.grad is None for p in learner.model.parameters())


@pytest.mark.quick
def test_frozen_parameters_stay():
    for rule in ("align-zero", "align-ada"):
        plain, learner = pair(ntk_mlp, rule)
        for one in (plain, learner):
            one.model[0].bias.requires_grad_(False)
            one.model[2].weight.requires_grad_(False)
        train_plainly(plain, vectors(), 5, lr=0.05)
        by_hand = ByHand(learner, lr=0.05)
        for index in orders(5):
            mse(by_hand(index), TARGETS[index]).backward()
            by_hand.step()
        assert_same_weights(learner.model, plain.model, 1e-12)


class ByHand:
    """Both kinds by one call."""

    def __init__(self, learner, lr):
        self.dual = learner.id == "align-zero"
        self.inner = DualAlignZero(learner, vectors(), lr=lr) if self.dual else InPlaceAlignAda(learner, lr=lr)

    def __call__(self, index):
        return self.inner(index=index) if self.dual else self.inner(vectors()[index], index=index)

    def step(self):
        self.inner.step()
        if self.dual:
            self.inner.materialise()


@pytest.mark.quick
def test_refusals():
    zero, ada = (widealign.rules.make(rule, convolutions().double()) for rule in ("align-zero", "align-ada"))
    with pytest.raises(RefusedModel, match=r"'0' \(Conv2d\) is not an nn.Linear or a widealign.nn.Linear"):
        DualAlignZero(zero, images(), lr=0.1)
    with pytest.raises(RefusedModel, match="InPlaceAlignAda cannot train this model: 2 problems"):
        InPlaceAlignAda(ada, lr=0.1)
    _, zero = pair(ntk_mlp, "align-zero")
    _, ada = pair(ntk_mlp)
    with pytest.raises(UsageError, match="takes an AlignZero learner; it was given AlignAda"):
        DualAlignZero(ada, vectors(), lr=0.1)
    with pytest.raises(UsageError, match="takes an AlignAda learner; it was given AlignZero"):
        InPlaceAlignAda(zero, lr=0.1)
    dual = DualAlignZero(zero, vectors(), lr=0.1)
    with pytest.raises(UsageError, match=r"call it after loss\.backward"):
        dual.step()
    with pytest.raises(UsageError, match="Give index=, the numbers of training examples, or x"):
        dual()
    zero.model[0].weight.data += 1
    with pytest.raises(UsageError, match=r"these have moved: 0\.weight"):
        DualAlignZero(zero, vectors(), lr=0.1)
    coupled = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.Linear(4, 2)).double()
    with pytest.raises(RefusedModel, match="draws another mask"):
        DualAlignZero(widealign.rules.make("align-zero", coupled), vectors(), lr=0.1)
    trainer = InPlaceAlignAda(ada, lr=0.1, budget=2 * 13 * 2 * 8)
    with pytest.raises(UsageError, match="hold 2 examples, and more are visited"):
        trainer(vectors(), index=torch.arange(EXAMPLES))
