"""The public check: what it finds, in data and in words, and that it touches nothing."""

import copy

import pytest
import torch
from torch import Tensor, nn

import widealign
import widealign.rules
from rules.cases import case, mlp, squared
from rules.support import RULES, move
from widealign.errors import UsageError
from widealign.oracle import Report

pytestmark = pytest.mark.quick

LOCAL = ["align-ada", "align-zero", "dfa", "last-layer"]


def learner_in_training(rule: str, model: nn.Module | None = None, **options) -> widealign.rules.Learner:
    torch.manual_seed(0)
    learner = widealign.rules.make(rule, mlp(nn.Tanh) if model is None else model, **options)
    move(learner.model)
    return learner


def on_vectors(learner: widealign.rules.Learner, **options) -> Report:
    torch.manual_seed(1)
    return widealign.check(learner, torch.randn(4, 3), torch.randn(4, 2), widealign.mse, **options)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_passes(rule: str):
    report = on_vectors(learner_in_training(rule))
    assert report.ok, str(report)
    assert report.rule == rule
    assert report.values_equal
    assert report.equals_oracle
    assert report.equals_backprop == (rule == "normal")
    assert report.locality.holds == (rule in LOCAL)


@pytest.mark.parametrize("rule", ["align-ada", "fa"])
@pytest.mark.parametrize("name", ["dropout", "batch-norm-1d", "two-inputs", "tied-tokens", "rnn-cell"])
def test_it_takes_any_model(rule: str, name: str):
    example = case(name)
    learner = widealign.rules.make(rule, example.model())
    args, kwargs = example.batch()
    x = {"x": args[0], **kwargs} if kwargs else args
    assert widealign.check(learner, x, None, lambda output, _: squared(output)).ok


def test_it_says_in_words_what_holds():
    text = str(on_vectors(learner_in_training("align-ada")))
    assert "align-ada: all that the rule promises holds" in text
    assert "equal: the learner's output is the model's, bit for bit" in text
    assert "equal: the update is the rule's formula" in text
    assert "changing the weights of '2', '4', '6' leaves the update of '0' as it was, for the same output error" in text
    assert "different: the update is not backpropagation's" in text


def test_it_says_in_words_that_backprop_is_not_local():
    text = str(on_vectors(learner_in_training("normal")))
    assert "not local: changing the weights of '2', '4', '6' changes the update of '0'" in text
    assert "at these weights the update is backpropagation's" in text


def test_a_rule_that_breaks_its_promise_is_found():
    class Leaky(widealign.AlignAda):
        def learn(self, *args, **kwargs):
            return self.model(*args, **kwargs)

    torch.manual_seed(0)
    learner = Leaky(mlp(nn.Tanh))
    move(learner.model)
    report = on_vectors(learner)
    assert not report.ok
    assert report.equals_oracle is False
    assert not report.locality.holds
    assert report.equals_backprop
    assert "something that the rule promises does NOT hold" in str(report)
    assert "NOT equal: the update is not the rule's formula" in str(report)
    assert "NOT local" in str(report)


def test_other_values_are_found():
    class Shifted(widealign.AlignProp):
        def learn(self, *args, **kwargs):
            return super().learn(*args, **kwargs) + 1e-6

    report = on_vectors(Shifted(mlp(nn.Tanh)))
    assert not report.values_equal
    assert not report.ok
    assert "NOT equal: the learner's output differs" in str(report)


def test_a_large_model_skips_the_formula_and_says_why():
    report = on_vectors(learner_in_training("align-ada"), largest=100)
    assert report.ok
    assert report.equals_oracle is None
    assert "skipped: its Jacobians would have" in str(report)
    assert "largest= allows 1e+02" in str(report)


def test_a_rule_of_the_users_own_skips_the_formula():
    class Mine(widealign.rules.Normal):
        id = "mine"

    assert "no formula for the rule 'mine'" in str(on_vectors(Mine(mlp(nn.Tanh))))


def test_a_model_of_one_site_has_no_locality():
    report = widealign.check(widealign.AlignAda(nn.Linear(3, 2)), torch.randn(4, 3), torch.randn(4, 2), widealign.mse)
    assert report.locality is None
    assert "locality  skipped" in str(report)


def test_it_leaves_everything_untouched():
    example = case("batch-norm")
    learner = widealign.rules.make("brsf", example.model())
    (x,), _ = example.batch()
    squared(learner(x)).backward()
    tensors = lambda: {**learner.state_dict(keep_vars=False), **{n: p.grad for n, p in learner.named_parameters()}}  # noqa: E731
    before, state = copy.deepcopy(tensors()), torch.get_rng_state()
    widealign.check(learner, x, None, lambda output, _: squared(output))
    for name, value in tensors().items():
        same = torch.equal(value, before[name]) if isinstance(value, Tensor) else value == before[name]
        assert same, name
    assert torch.equal(torch.get_rng_state(), state)


def test_it_asks_for_training_mode():
    with pytest.raises(UsageError, match=r"training mode.*call learner.train\(\) first"):
        on_vectors(learner_in_training("fa").eval())


class FixesItsType(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.out = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.first(x.float()).tanh())


def test_a_model_that_fixes_its_type_is_checked_without_the_formula():
    report = widealign.check(widealign.AlignAda(FixesItsType()), torch.randn(5, 3), torch.randn(5, 2), widealign.mse)
    assert report.ok
    assert report.values_equal
    assert "formula   skipped: the model does not run in float64" in str(report)


def test_the_readout_of_a_model_that_returns_its_loss():
    class Loss(FixesItsType):
        def forward(self, x):
            return self.out(self.first(x).tanh()).square().mean()

    report = widealign.check(widealign.LastLayer(Loss()), torch.randn(5, 3), None, lambda output, target: output)
    assert report.ok
    assert report.equals_oracle
