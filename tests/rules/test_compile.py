"""`torch.compile` of a learner gives the eager gradients; bitwise equal values are a promise of eager mode only."""

import copy

import pytest
import torch
from torch import Tensor, nn

import widealign
import widealign.nn as wide
import widealign.rules
from rules.cases import case, mlp, squared
from rules.support import RULES, assert_same_update, gradients, move


def networks() -> dict[str, tuple[nn.Module, Tensor]]:
    torch.manual_seed(0)
    cnn = nn.Sequential(wide.PaperLayer(2, 3), nn.ReLU(), wide.PaperLayer(3, 3, stride=2), nn.Tanh(), nn.Flatten())
    cnn.append(wide.Linear(12, 2))
    return {"mlp": (mlp(nn.Tanh), torch.randn(4, 3)), "cnn": (cnn, torch.randn(4, 2, 4, 4))}


def compare(rule: str, network: str, backend: str) -> None:
    model, x = networks()[network]
    learner = widealign.rules.make(rule, model)
    move(model)
    squared(learner(x)).backward()
    learner.zero_grad(set_to_none=True)
    twin = copy.deepcopy(learner)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(learner, backend=backend)
    for step in range(3):
        for each in (compiled, twin):
            each.zero_grad(set_to_none=True)
            squared(each(x + step)).backward()
        assert_same_update(gradients(learner.model), gradients(twin.model), rtol=2e-5, floor=0.1)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1, "nothing was compiled"
    breaks = torch._dynamo.utils.counters["graph_break"]
    assert sum(breaks.values()) <= (rule == "brsf"), breaks  # new feedback is drawn outside of the graph


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("network", ["mlp", "cnn"])
@pytest.mark.parametrize("rule", RULES)
def test_the_traced_graph_has_the_eager_gradients(rule: str, network: str):
    compare(rule, network, backend="aot_eager")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("rule", ["align-ada", "align-zero", "fa", "dfa"])
def test_compiled_code_has_the_eager_gradients(rule: str):
    compare(rule, "cnn", backend="inductor")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(
    ("rule", "name"),
    [("align-ada", "dropout"), ("align-zero", "dropout"), ("align-ada", "spectral-norm"), ("fa", "spectral-norm")],
)
def test_a_second_pass_finds_the_state_of_the_first(rule: str, name: str):
    example = case(name)
    model = example.model()
    learner = widealign.rules.make(rule, model)
    move(model)
    (x,), _ = example.batch()
    squared(learner(x)).backward()
    twin = copy.deepcopy(learner)
    torch._dynamo.reset()
    for each in (torch.compile(learner, backend="aot_eager"), twin):
        each.zero_grad(set_to_none=True)
        torch.manual_seed(0)
        squared(each(x)).backward()
    assert_same_update(gradients(learner.model), gradients(twin.model), rtol=2e-5, floor=0.1)
