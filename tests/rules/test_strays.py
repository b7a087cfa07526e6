"""What would be trained by plain backpropagation, or wrongly, without a word: found at the latest in the first pass."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import widealign
from rules.support import RULES
from widealign.errors import RefusedModel, UsageError

pytestmark = pytest.mark.quick

OURS = [rule for rule in RULES if rule != "normal"]
CUTTING = ["last-layer", "dfa", "fa", "usf", "brsf", "frsf", "align-prop", "align-ada"]
X = torch.randn(3, 5)


class Box:
    def __init__(self, h: Tensor):
        self.h = h


class BoxedLinear(nn.Linear):
    def forward(self, box):
        return Box(torch.tanh(F.linear(box.h, self.weight)))


class Boxed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = BoxedLinear(5, 6, False), BoxedLinear(6, 2, False)

    def forward(self, x):
        return self.b(self.a(Box(x))).h


class Sideways(nn.Module):
    """One layer leaves its output as an attribute, another one takes it from there."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 6), Beside()
        self.second.sibling = [self.first]

    def forward(self, x):
        self.second.skip = self.first(x)
        return self.second(x)


class Beside(nn.Linear):
    def __init__(self):
        super().__init__(5, 6)

    def forward(self, x):
        return super().forward(x) * self.skip


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(5))

    def forward(self, h, weight):
        return h @ weight + self.bias


class HandedOn(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(5, 6), Decoder()

    def forward(self, x):
        return self.decoder(self.encoder(x).tanh(), self.encoder.weight)


@pytest.mark.parametrize("rule", CUTTING)
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Boxed, "an object, Box, whose tensors are out of the rule's reach"),
        (Sideways, "'second' hears of 'first.weight' past its inputs"),
        (HandedOn, "'decoder' is given the parameter 'encoder.weight' of another module"),
    ],
)
def test_what_reaches_a_site_past_its_inputs_is_refused(rule, model, words):
    learner = widealign.rules.make(rule, model())
    if (rule, model) == ("align-ada", Sideways):  # its frozen pass leaves an attribute of its own: nothing is amiss
        learner(X).sum().backward()
        return
    with pytest.raises(RefusedModel, match=words):
        learner(X)


class Chunked(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.qk, self.o = nn.Linear(5, 6), nn.Linear(6, 12, bias=False), nn.Linear(6, 2)

    def forward(self, x):
        h = self.a(x).tanh()
        q, k = self.qk.weight.chunk(2)
        return self.o(F.linear(h, q) * F.linear(h, k))


@pytest.mark.parametrize("rule", CUTTING)
def test_a_part_of_a_weight_that_is_used_outside_its_module_is_refused(rule):
    with pytest.raises(RefusedModel, match=r"'qk.weight' is used \(by chunk\) while its site 'qk' is not being called"):
        widealign.rules.make(rule, Chunked())(X)


class OwnWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Parameter(torch.randn(5, 6)), nn.Parameter(torch.randn(6, 2))

    def forward(self, x):
        return torch.tanh(x @ self.w1) @ self.w2


@pytest.mark.parametrize("rule", OURS)
def test_a_network_that_would_be_one_site_is_refused_unless_asked_for(rule):
    with pytest.raises(RefusedModel, match="it owns its weights itself, so it would be one site"):
        widealign.rules.make(rule, OwnWeights())
    widealign.rules.make(rule, OwnWeights(), sites="")(X).sum().backward()


@pytest.mark.parametrize("rule", OURS)
def test_a_model_that_was_compiled_before_is_refused(rule):
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    with pytest.raises(RefusedModel, match=r"use torch.compile\(learner\)"):
        widealign.rules.make(rule, torch.compile(net, backend="eager"))
    in_place = copy.deepcopy(net)
    in_place.compile(backend="eager")
    with pytest.raises(RefusedModel, match="compiled code does not see a rule that comes later"):
        widealign.rules.make(rule, in_place)


def test_complex_weights_are_refused():
    with pytest.raises(RefusedModel, match="'weight' is complex"):
        widealign.AlignAda(nn.Linear(2, 2, dtype=torch.cfloat))


class Standardised(nn.Conv2d):
    def _conv_forward(self, x, weight, bias):
        return super()._conv_forward(x, (weight - weight.mean()) / weight.std(), bias)


def hooked():
    net = nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 2)).double()
    net[1].register_forward_hook(lambda module, inputs, output: output.tanh())
    return net, torch.randn(3, 5).double()


def patched():
    net = nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 2)).double()
    layer = net[1]
    layer.forward = lambda x: F.linear(x, layer.weight, layer.bias).tanh() + x
    return net, torch.randn(3, 5).double()


def standardised():
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Tanh(), Standardised(3, 2, 3)).double()
    return net, torch.randn(2, 2, 7, 7).double()


def spectral():
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.utils.spectral_norm(nn.Linear(6, 2))).double()
    return net, torch.randn(3, 5).double()


@pytest.mark.parametrize("make", [hooked, patched, standardised, spectral])
def test_modules_that_compute_more_than_their_class_says_are_carried_back_by_what_they_compute(make):
    """At the start Align-prop is backpropagation."""
    net, x = make()
    twin = copy.deepcopy(net) if make is not patched else net
    state = copy.deepcopy(net.state_dict())
    widealign.AlignProp(net)(x).square().sum().backward()
    ours = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    twin.load_state_dict(state)
    twin.train()(x).square().sum().backward()
    for mine, theirs in zip(ours, [p.grad for p in twin.parameters()], strict=True):
        torch.testing.assert_close(mine, theirs)


class Remembering(nn.Module):
    """Keeps its state as a plain tensor, and a loss on the side."""

    def __init__(self):
        super().__init__()
        self.a, self.o, self.h = nn.Linear(5, 6), nn.Linear(6, 2), torch.zeros(3, 6)

    def forward(self, x):
        self.h = (self.a(x) + self.h).tanh().detach()
        self.side = self.h.square().sum()
        return self.o((self.a(x) + self.h).tanh())


@pytest.mark.parametrize("rule", RULES)
def test_tensors_that_a_module_keeps_are_those_of_the_live_pass(rule):
    model = Remembering()
    learner = widealign.rules.make(rule, model)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(2)
    twin = copy.deepcopy(model)
    for _ in range(3):
        assert torch.equal(learner(X), twin(X))
        assert torch.equal(model.h, twin.h)
        assert torch.equal(model.side, twin.side)


class Deepening(nn.Module):
    """How often a layer is called depends on its weights, or on chance."""

    def __init__(self, calls):
        super().__init__()
        self.a, self.b, self.o, self.calls = nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 2), calls

    def forward(self, x):
        h = self.a(x).tanh()
        for _ in range(self.calls(self.b.weight)):
            h = h + self.b(h).tanh()
        return self.o(h)


def test_calls_that_the_initial_network_does_not_make_are_an_error():
    model = Deepening(lambda weight: int(weight.detach().abs().max() * 5) + 1)
    learner = widealign.AlignAda(model)
    with torch.no_grad():
        model.b.weight.mul_(3)
    with pytest.raises(UsageError, match="'b' is called less often in the initial network"):
        learner(X)
    depths = iter([9, 4])
    with pytest.raises(UsageError, match="draw it with torch"):
        widealign.AlignAda(Deepening(lambda weight: next(depths)))(X)


def test_a_module_that_was_exchanged_is_noticed():
    net = nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 2))
    learner = widealign.FA(net)
    learner(X)
    net[1] = nn.Linear(6, 2)
    with pytest.raises(UsageError, match=r"\['1'\] were exchanged"):
        learner(X)


def test_a_parameter_without_a_site_that_thaws_is_noticed():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.scale = nn.Linear(5, 2), nn.Parameter(torch.ones(2), requires_grad=False)

        def forward(self, x):
            return self.layer(x) * self.scale

    model = Scaled()
    learner = widealign.AlignAda(model)
    learner(X)
    model.scale.requires_grad_(True)
    with pytest.raises(RefusedModel, match="'scale' belongs to no site"):
        learner(X)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["values", "take", "forward_hooks", "a/b", "per%cent"])
def test_parameters_may_have_any_name(rule, name):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 2)
            self.layer.register_parameter(name, nn.Parameter(torch.randn(2)))

        def forward(self, x):
            return self.layer(x)

    class Direct(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_parameter(name, nn.Parameter(torch.randn(5, 2)))

        def forward(self, x):
            return x @ self._parameters[name]

    for model in (Named(), Direct()):
        learner = widealign.rules.make(rule, model)
        learner(X).sum().backward()
        widealign.rules.make(rule, copy.deepcopy(model)).load_state_dict(learner.state_dict())


@pytest.mark.parametrize("rule", RULES)
def test_an_empty_batch_is_taken(rule):
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    widealign.rules.make(rule, net)(X[:0]).sum().backward()


@pytest.mark.parametrize("rule", ["align-ada", "align-zero", "align-prop"])
def test_a_model_that_was_converted_without_its_learner_is_an_error(rule):
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    learner = widealign.rules.make(rule, net)
    net.double()
    with pytest.raises(UsageError, match=r"call .to\(\) on the learner, not on the model"):
        learner(X.double())
    learner.double()
    learner(X.double()).sum().backward()


def test_dfa_takes_a_checkpoint_from_before_its_first_pass():
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    learner = widealign.DFA(net)
    before = copy.deepcopy(learner.state_dict())
    learner(X)
    learner.load_state_dict(before)
    assert learner.feedback == {}


def test_fa_leaves_gains_as_they_are():
    """Of the weights alone it has substitutes: a gain that has grown carries errors as it is now."""
    net = nn.Sequential(nn.Linear(5, 6), nn.LayerNorm(6), nn.Linear(6, 2)).double()
    learner = widealign.FA(net, feedback={"2.weight": net[2].weight.detach().clone()})
    with torch.no_grad():
        net[1].weight.mul_(3)
    x = X.double()
    learner(x).square().sum().backward()
    ours = net[0].weight.grad.clone()
    net.zero_grad()
    net(x).square().sum().backward()
    torch.testing.assert_close(ours, net[0].weight.grad)


@pytest.mark.parametrize("refresh", [1.5, True, "3", 0])
def test_refresh_is_a_whole_number(refresh):
    with pytest.raises(UsageError, match="refresh= is a whole number of training passes"):
        widealign.AlignAda(nn.Linear(2, 2), refresh=refresh)


def test_dfa_shares_over_the_locations_of_a_sequence_too():
    net = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Conv1d(3, 4, 3), nn.Flatten(), nn.Linear(16, 2))
    learner = widealign.DFA(net, shared_over_space=True)
    learner(torch.randn(5, 2, 8)).sum().backward()
    assert learner.feedback["2"].shape == (3, 2)
