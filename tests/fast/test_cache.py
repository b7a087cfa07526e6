"""Kept feedback is the recomputed feedback, wherever it may be kept at all."""

import copy

import pytest
import torch
from torch import nn

import widealign.nn as wide
from fast.support import advance, batches, convolutions, images, ntk_mlp, pair, update, vectors
from rules.cases import Residual, Unrolled
from rules.support import assert_same_update, differ
from widealign import models
from widealign.errors import RefusedModel, UsageError

pytestmark = pytest.mark.quick

CASES = {
    "mlp-relu": (ntk_mlp, vectors),
    "mlp-tanh": (lambda: ntk_mlp(nn.Tanh), vectors),
    "cnn-relu": (convolutions, images),
    "cnn-tanh": (lambda: convolutions(nn.Tanh), images),
    "residual": (Residual, vectors),
}
EVERY = pytest.mark.parametrize("case", CASES)


@EVERY
@pytest.mark.parametrize(
    ("rule", "cache"), [("align-ada", "jacobian"), ("align-ada", "gates"), ("align-zero", "jacobian")]
)
def test_update_is_that_without_cache(case: str, rule: str, cache: str):
    build, data = CASES[case]
    plain, kept = pair(build, rule, cache=cache)
    x = data()
    for index in batches():
        advance(plain, kept)
        (expected, gradients), (values, ours) = update(plain, x[index]), update(kept, x[index], index)
        assert torch.equal(values, expected)
        assert_same_update(ours, gradients, rtol=1e-10)
    assert kept.cache.store is not None


@pytest.mark.parametrize("cache", ["jacobian", "gates"])
def test_visits_after_the_first_do_not_compute_the_initial_network(cache: str):
    _, learner = pair(ntk_mlp, cache=cache)
    x = vectors()
    update(learner, x[:4], torch.arange(4))
    for weight in learner.initial.values().values():
        weight.fill_(torch.nan) if cache == "jacobian" else weight.mul_(2)
    before = learner.cache.store.kept[0].clone()
    _, ours = update(learner, x[:4], torch.arange(4))
    assert all(gradient.isfinite().all() for gradient in ours.values())
    assert torch.equal(before, learner.cache.store.kept[0])


def test_examples_are_told_apart():
    plain, kept = pair(ntk_mlp, cache="jacobian")
    advance(plain, kept)
    x = vectors()
    update(kept, x[:4], torch.arange(4))
    _, wrong = update(kept, x[:4], torch.tensor([1, 0, 3, 2]))
    _, right = update(plain, x[:4])
    assert differ(wrong, right)


def test_an_example_twice_in_a_batch():
    plain, kept = pair(ntk_mlp, cache="jacobian")
    advance(plain, kept)
    index = torch.tensor([70_000, 2, 70_000, 3])
    x = vectors()[torch.tensor([1, 2, 1, 3])]
    assert_same_update(update(kept, x, index)[1], update(plain, x)[1])
    assert kept.cache.rows.count == 3


def test_recurrent_sites_are_called_many_times():
    build = lambda: Unrolled(nn.RNNCell(2, 3))  # noqa: E731
    plain, kept = pair(build, cache="jacobian")
    x = torch.randn(4, 3, 2, dtype=torch.float64)
    for _ in range(2):
        advance(plain, kept)
        kept(x, index=torch.arange(4))
        for learner, options in ((plain, {}), (kept, {"index": torch.arange(4)})):
            learner.zero_grad()
            sum(out.square().sum() for out in learner(x, **options)).backward()
        ours, theirs = ({n: p.grad for n, p in learner.model.named_parameters()} for learner in (kept, plain))
        assert_same_update(ours, theirs)


def test_signs_are_kept_for_relu_only():
    for build, bits in ((ntk_mlp, True), (lambda: ntk_mlp(nn.Tanh), False), (lambda: ntk_mlp(nn.ReLU6), False)):
        _, kept = pair(build, cache="gates")
        update(kept, vectors()[:4], torch.arange(4))
        assert kept.cache.store.bits is bits
    _, kept = pair(Residual, cache="gates")
    update(kept, vectors()[:4], torch.arange(4))
    assert kept.cache.store.bits is False


def test_refresh_forgets():
    plain, kept = pair(ntk_mlp, plain={"refresh": 2}, cache="jacobian", refresh=2)
    x = vectors()
    for index in batches():
        advance(plain, kept)
        assert_same_update(update(kept, x[index], index)[1], update(plain, x[index])[1])


def test_checkpoints_hold_no_cache_and_forget_it():
    plain, kept = pair(ntk_mlp, cache="jacobian")
    empty = set(kept.state_dict())
    update(kept, vectors()[:4], torch.arange(4))
    assert set(kept.state_dict()) == empty
    other = copy.deepcopy(plain.state_dict())
    for name in other:
        if name.startswith("initial."):
            other[name] += 1.0
    kept.load_state_dict(other)
    plain.load_state_dict(other)
    assert_same_update(update(kept, vectors()[:4], torch.arange(4))[1], update(plain, vectors()[:4])[1])


def test_bf16_storage_is_close():
    plain, kept = pair(ntk_mlp, cache="jacobian", cache_dtype=torch.bfloat16)
    x, index = vectors()[:4], torch.arange(4)
    _, exact = update(plain, x)
    _, rounded = update(kept, x, index)
    assert kept.cache.store.kept[0].dtype == torch.bfloat16
    for name, gradient in exact.items():
        assert (rounded[name] - gradient).norm() <= 0.01 * gradient.norm()


def test_evaluation_takes_example_numbers_too():
    _, kept = pair(ntk_mlp, cache="jacobian")
    with torch.no_grad():
        kept(vectors(), index=torch.arange(9))
    kept.eval()(vectors(), index=torch.arange(9))
    assert kept.cache.store is None


REFUSED = {
    "paper": (lambda: models.cifar_cnn(4), images, "'layers.0.norm' (BatchAxisNorm) normalises by the statistics"),
    "batch-norm": (lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), vectors,
                   "'1' (BatchNorm1d) normalises by the statistics of the batch: put it in eval mode"),
    "dropout": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Linear(4, 2)), vectors,
                "'1' (Dropout) draws another mask"),
    "rnn": (lambda: models.add_rnn(4), vectors, "'initial_state.value' is an input of the initial network that keeps"),
}  # fmt: skip


@pytest.mark.parametrize("cache", ["jacobian", "gates"])
@pytest.mark.parametrize("case", REFUSED)
def test_refused_where_an_example_has_no_feedback_of_its_own(case: str, cache: str):
    build, data, reason = REFUSED[case]
    _, kept = pair(build, cache=cache)
    with pytest.raises(RefusedModel, match="cannot train this model") as error:
        kept(data()[:4], index=torch.arange(4))
    assert reason in str(error.value)


class Centred(nn.Module):
    """Couples the examples in a way that no module's type gives away."""

    def forward(self, x):
        return x - x.mean(0)


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


@pytest.mark.parametrize("hidden", [Centred, Noisy])
def test_refused_where_values_show_it(hidden):
    _, kept = pair(lambda: nn.Sequential(nn.Linear(3, 4), hidden(), nn.Linear(4, 2)), cache="jacobian")
    with pytest.raises(RefusedModel, match="'2' has other values for an example when the rest"):
        kept(vectors(), index=torch.arange(9))


def test_gates_are_refused_where_a_site_cannot_be_skipped():
    _, kept = pair(lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)), cache="gates")
    with pytest.raises(RefusedModel, match=r"'1' \(LayerNorm\) is not a linear map"):
        kept(vectors(), index=torch.arange(9))


@pytest.mark.parametrize("index", [None, torch.arange(3), torch.arange(9) / 2])
def test_example_numbers_are_asked_for(index):
    _, kept = pair(ntk_mlp, cache="jacobian")
    with pytest.raises(UsageError, match=r"learner\(x, index=i\) with i of shape \(9,\)"):
        kept(vectors(), index=index)


def test_options_are_checked():
    for options, message in (
        ({"cache": "jacobean"}, "cache= is one of none, auto, jacobian, gates"),
        ({"cache_budget": -1}, "number of bytes"),
        ({"feedback_statistics": "live"}, "feedback_statistics= is batch or frozen"),
        ({"feedback_statistics": "frozen", "refresh": 3}, "belongs to one initial network"),
    ):
        with pytest.raises(UsageError, match=message):
            pair(ntk_mlp, **options)
    with pytest.raises(UsageError, match="none, auto, jacobian for align-zero"):
        pair(ntk_mlp, "align-zero", cache="gates")


def test_budget_is_kept():
    _, kept = pair(ntk_mlp, cache="jacobian", cache_budget=5 * 2 * (6 + 5 + 2) * 8)
    update(kept, vectors()[:4], torch.arange(4))
    with pytest.raises(UsageError, match=r"cache_budget=\d+ bytes hold 5 examples, and more are visited"):
        kept(vectors(), index=torch.arange(9))


def test_automatic_choice_says_what_it_took():
    x = torch.randn(80, 30, dtype=torch.float64)
    wide_mlp = lambda: models.mlp(30, [64, 64], 2)  # noqa: E731
    for options, mode, words in (
        ({}, "jacobian", "2/3 of backprop instead of 4/3"),
        ({"cache_budget": 3000}, "gates", "a step costs 1 of backprop"),
        ({"cache_budget": 10}, "none", "10 bytes are too few"),
    ):
        plain, kept = pair(wide_mlp, cache="auto", **options)
        _, ours = update(kept, x, torch.arange(80))
        assert_same_update(ours, update(plain, x)[1])
        assert kept.cache.mode == mode
        assert words in kept.cache_report
    _, kept = pair(lambda: models.kmnist_cnn(4), cache="auto")
    kept(torch.randn(4, 1, 8, 8, dtype=torch.float64), index=torch.arange(4))
    assert "'layers.0.norm' (BatchAxisNorm) normalises by the statistics" in kept.cache_report


def test_automatic_choice_gives_up_when_more_examples_come_than_it_has_room_for():
    plain, kept = pair(lambda: models.mlp(30, [64, 64], 2), cache="auto", cache_budget=64 * 2 * 130 * 8)
    x = torch.randn(80, 30, dtype=torch.float64)
    update(kept, x[:64], torch.arange(64))
    assert kept.cache.mode == "jacobian"
    assert_same_update(update(kept, x[20:], torch.arange(20, 80))[1], update(plain, x[20:])[1])
    assert kept.cache_report.startswith("nothing is kept: cache_budget=")
    update(kept, x[20:], torch.arange(20, 80))


@pytest.mark.parametrize("cache", ["none", "jacobian", "gates"])
@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels_last"])
def test_frozen_statistics(cache: str, last: bool):
    build = lambda: models.kmnist_cnn(4, num_classes=3)  # noqa: E731
    x = torch.randn(9, 1, 9, 9, dtype=torch.float64)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    plain, kept = pair(build, plain={"feedback_statistics": "frozen"}, cache=cache, feedback_statistics="frozen")
    with pytest.raises(UsageError, match=r"learner.gather_statistics\(batches\)"):
        kept(x, **({} if cache == "none" else {"index": torch.arange(9)}))
    for learner in (plain, kept):
        learner.gather_statistics([x[:5], x[5:]])
    for index in batches(4):
        advance(plain, kept)
        expected = update(plain, x[index])[1]
        ours = update(kept, x[index], None if cache == "none" else index)[1]
        assert_same_update(ours, expected)
        reference, _ = pair(build)
        reference.load_state_dict(plain.state_dict(), strict=False)
        assert differ(update(reference, x[index])[1], expected), "the batch's own statistics must matter"
    assert all(norm.statistics is None for norm in plain.model.modules() if isinstance(norm, wide.BatchAxisNorm))


def test_frozen_statistics_are_saved():
    options = {"cache": "gates", "feedback_statistics": "frozen"}
    one, other = pair(lambda: models.kmnist_cnn(4), plain=options, **options)
    x = torch.randn(9, 1, 8, 8, dtype=torch.float64)
    one.gather_statistics([x])
    other.load_state_dict(one.state_dict())
    index = torch.arange(9)
    assert_same_update(update(other, x, index)[1], update(one, x, index)[1])
