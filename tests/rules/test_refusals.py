"""Models that a rule would train wrongly are refused at construction: all problems at once, each with its remedy."""

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import widealign.rules
from rules.support import RULES
from widealign.errors import RefusedModel, UsageError

pytestmark = pytest.mark.quick

OURS = [rule for rule in RULES if rule != "normal"]


class Stray(nn.Module):
    """A parameter beside leaves that are called."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * self.scale


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent, self.attention = nn.LSTM(3, 4), nn.MultiheadAttention(4, 2)
        self.lazy, self.stray = nn.LazyLinear(2), Stray()

    def forward(self, x: Tensor) -> Tensor:
        return self.lazy(self.recurrent(x)[0])


@pytest.mark.parametrize("rule", OURS)
def test_all_problems_at_once_each_with_its_remedy(rule: str):
    with pytest.raises(RefusedModel) as refusal:
        widealign.rules.make(rule, Fused())
    text = str(refusal.value)
    assert f"{type_name(rule)} cannot train this model: " in text
    assert "'recurrent' (LSTM) hides its sites in one fused operation: use its unrolled form, widealign.nn." in text
    assert "'attention' (MultiheadAttention) hides its sites in one fused operation: use its explicit form" in text
    assert "'lazy.weight' is not initialised yet: run the model once on an example before wrapping it" in text
    assert "'stray.scale' belongs to no site: move it into a module of its own that is called, name 'stray'" in text
    assert len(refusal.value.problems) >= 4


@pytest.mark.parametrize("fused", [nn.RNN(3, 4), nn.GRU(3, 4), nn.LSTM(3, 4), nn.MultiheadAttention(4, 2)])
@pytest.mark.parametrize("rule", OURS)
def test_fused_modules_are_refused(rule: str, fused: nn.Module):
    with pytest.raises(RefusedModel, match=r"one fused operation: use its (unrolled|explicit) form, widealign\.nn\."):
        widealign.rules.make(rule, nn.Sequential(nn.Linear(3, 3), fused))


@pytest.mark.parametrize("rule", OURS)
def test_fused_transformers_are_refused(rule: str):
    with pytest.raises(RefusedModel, match="fused operation"):
        widealign.rules.make(rule, nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))


@pytest.mark.parametrize("rule", RULES)
def test_a_model_without_parameters_is_refused(rule: str):
    with pytest.raises(RefusedModel, match="it has no parameters: give a model with at least one learning layer"):
        widealign.rules.make(rule, nn.Sequential(nn.ReLU()))


@pytest.mark.parametrize("rule", RULES)
def test_a_lazy_module_is_refused(rule: str):
    with pytest.raises(RefusedModel, match=r"'0.weight' is not initialised yet: run the model once"):
        widealign.rules.make(rule, nn.Sequential(nn.LazyLinear(2)))


@pytest.mark.parametrize("rule", RULES)
def test_a_model_without_memory_is_refused(rule: str):
    with pytest.raises(RefusedModel, match=r"'0.weight' is not initialised yet, it is on the meta device"):
        widealign.rules.make(rule, nn.Sequential(nn.Linear(2, 2, device="meta")))


@pytest.mark.parametrize("rule", OURS)
def test_a_learner_inside_is_refused(rule: str):
    inner = widealign.AlignAda(nn.Linear(3, 3))
    with pytest.raises(RefusedModel, match=r"'1' is a learner already \(AlignAda\).*: wrap its \.model"):
        widealign.rules.make(rule, nn.Sequential(nn.Linear(3, 3), inner))
    with pytest.raises(RefusedModel, match="'the model' is a learner already"):
        widealign.rules.make(rule, inner)


@pytest.mark.parametrize("rule", OURS)
def test_a_stray_parameter_may_be_frozen_or_named(rule: str):
    model = Stray()
    model.scale.requires_grad_(False)
    for learner in (widealign.rules.make(rule, model), widealign.rules.make(rule, Stray(), sites=[""])):
        learner(torch.randn(2, 3)).sum().backward()
        assert learner.model.layer.weight.grad is not None


def test_the_owner_of_a_stray_list_is_named():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(3, 3), nn.ParameterList([torch.ones(3)]))

    with pytest.raises(RefusedModel, match=r"'inner.1.0' belongs to no site: .*, name 'inner' in sites="):
        widealign.AlignAda(Mixed())


class Borrowed(nn.Module):
    """Uses a leaf's weight without calling the leaf: its gradient would be plain backpropagation's."""

    def __init__(self):
        super().__init__()
        self.first, self.readout = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(torch.tanh(nn.functional.linear(self.first(x), self.first.weight)))


@pytest.mark.parametrize("rule", [rule for rule in OURS if rule != "align-zero"])
def test_a_weight_used_outside_its_site_is_refused_at_the_first_pass(rule: str):
    learner = widealign.rules.make(rule, Borrowed())
    with pytest.raises(RefusedModel, match=r"'first.weight' is used \(by linear\) while its site 'first' is not being"):
        learner(torch.randn(2, 3))


class Checkpointed(nn.Module):
    """Forgets the activities of its inner layers, and computes them again in the backward pass."""

    def __init__(self, reentrant: bool):
        super().__init__()
        self.first, self.inner, self.readout = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        self.reentrant = reentrant

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.first(x))
        return self.readout(torch.tanh(checkpoint(self.inner, x, use_reentrant=self.reentrant)))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("rule", OURS)
def test_activation_checkpointing_is_refused_at_the_first_pass(rule: str, reentrant: bool):
    learner = widealign.rules.make(rule, Checkpointed(reentrant))
    with pytest.raises(RefusedModel, match=r"'inner.weight' is used under torch.utils.checkpoint.*switch activation"):
        learner(torch.randn(2, 3))


class Recursive(nn.Module):
    """Owns a parameter, and calls itself."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(3, 3))

    def forward(self, x: Tensor, depth: int = 1) -> Tensor:
        x = torch.tanh(x @ self.mix)
        return self(x, depth - 1) if depth else x


@pytest.mark.parametrize("rule", [rule for rule in OURS if rule != "align-zero"])
def test_a_site_within_a_site_is_refused(rule: str):
    learner = widealign.rules.make(rule, nn.Sequential(nn.Linear(3, 3), Recursive()))
    with pytest.raises(UsageError, match=r"'1' is called while a site is running .*name the module that holds both"):
        learner(torch.randn(2, 3))


class Routed(nn.Module):
    """Weights decide which layer an example takes."""

    def __init__(self):
        super().__init__()
        self.route, self.ways, self.readout = (
            nn.Linear(3, 2),
            nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)]),
            nn.Linear(3, 2),
        )

    def forward(self, x: Tensor) -> Tensor:
        way = self.route(x).argmax(-1)
        parts = [layer(x[way == i]) for i, layer in enumerate(self.ways) if (way == i).any()]
        return self.readout(torch.cat(parts))


@pytest.mark.parametrize(("before", "after"), [([50.0, 0.0], [0.0, 50.0]), ([0.0, 0.0], [0.0, 50.0])])
def test_live_routing_that_the_initial_network_does_not_take_is_refused(before: list[float], after: list[float]):
    torch.manual_seed(0)
    model = Routed()
    with torch.no_grad():
        model.route.bias.copy_(torch.tensor(before))
    learner, x = widealign.AlignAda(model), torch.randn(8, 3)
    learner(x).sum().backward()
    with torch.no_grad():
        model.route.bias.copy_(torch.tensor(after))
    with pytest.raises(UsageError, match=r"\(routing, early exit\), name the module that holds that part in sites="):
        learner(x)


@pytest.mark.parametrize("rule", OURS)
def test_an_output_that_cannot_be_read_is_refused(rule: str):
    class Holder:
        def __init__(self, value: Tensor):
            self.value = value

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Holder:
            return Holder(self.layer(x))

    with pytest.raises(RefusedModel, match="returns an object, Holder, whose tensors are out of the rule's reach"):
        widealign.rules.make(rule, Odd())(torch.randn(2, 3))


def test_an_unknown_rule_is_answered_with_the_known_ones():
    with pytest.raises(
        UsageError, match=r"There is no rule 'align_ada'; the rules are normal, .*Did you mean 'align-ada'"
    ):
        widealign.rules.make("align_ada", nn.Linear(2, 2))


def test_an_unknown_option_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"'fa' has no option refresh; its options are .*seed"):
        widealign.rules.make("fa", nn.Linear(2, 2), refresh=3)


def test_unknown_sites_are_named():
    with pytest.raises(UsageError, match=r"sites= names modules of the model; \['conv'\] are not among \['0', '1'\]"):
        widealign.rules.make("dfa", nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), sites=["conv", "0"])


@pytest.mark.parametrize("refresh", [0, -1])
def test_a_refresh_that_never_comes_is_refused(refresh: int):
    with pytest.raises(UsageError, match=rf"refresh= is a whole number of training passes, 1 or more.*it is {refresh}"):
        widealign.rules.make("align-prop", nn.Linear(2, 2), refresh=refresh)


def test_feedback_of_another_shape_is_refused():
    with pytest.raises(UsageError, match=r"feedback= holds a tensor for each parameter.*'weight' has shape \(3, 3\)"):
        widealign.rules.make("fa", nn.Linear(2, 2), feedback={"weight": torch.ones(3, 3)})
    with pytest.raises(UsageError, match=r"feedback= names sites of the model, which are \['0'\]; \['1'\]"):
        widealign.rules.make("dfa", nn.Sequential(nn.Linear(2, 2)), feedback={"1": torch.ones(3, 3)})


def test_direct_feedback_needs_the_batch_first():
    class TimeFirst(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.two(self.one(x)).transpose(0, 1)

    with pytest.raises(UsageError, match=r"dfa needs the batch as the first axis.*'two' takes shape \(5, 2, 3\)"):
        widealign.rules.make("dfa", TimeFirst())(torch.randn(5, 2, 3))


@pytest.mark.parametrize("outputs", [lambda y: y.mean(), lambda y: {"loss": y.mean(), "y": y}, lambda y: (y, y[:1])])
def test_direct_feedback_needs_outputs_for_each_example(outputs):
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x: Tensor):
            return outputs(self.two(self.one(x)))

    with pytest.raises(UsageError, match=r"dfa needs the batch as the first axis of every output.*shapes \["):
        widealign.DFA(Odd())(torch.randn(5, 3))


def type_name(rule: str) -> str:
    return widealign.rules.get(rule).__name__
