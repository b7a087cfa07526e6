"""A learner's `state_dict`, loaded into a new process, gives identical next gradients."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import widealign.rules
from rules.cases import squared
from rules.support import RULES


def learner_of(rule: str, seed: int) -> widealign.rules.Learner:
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(12, 4), nn.Tanh(),
        nn.Linear(4, 2),
    )  # fmt: skip
    possible = {"refresh": 3, "seed": seed}
    known = inspect.signature(widealign.rules.get(rule)).parameters
    return widealign.rules.make(rule, model, **{name: possible[name] for name in possible if name in known})


def steps(learner: nn.Module, count: int, start: int) -> dict[str, Tensor]:
    """Trains, and returns the last step's gradients."""
    for step in range(start, start + count):
        torch.manual_seed(step)
        learner.zero_grad()
        squared(learner(torch.randn(3, 2, 4, 4))).backward()
        with torch.no_grad():
            for parameter in learner.parameters():
                if parameter.grad is not None:
                    parameter -= 0.05 * parameter.grad
    return {name: p.grad.clone() for name, p in learner.named_parameters() if p.grad is not None}


def resume(folder: Path) -> None:
    """The new process: other initial weights, other seed, then the saved state."""
    for rule in RULES:
        learner = learner_of(rule, seed=99)
        learner.load_state_dict(torch.load(folder / f"{rule}.pt", weights_only=True))
        torch.save(steps(learner, 2, start=4), folder / f"{rule}-next.pt")


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Tensor], dict[str, Tensor]]]:
    folder = tmp_path_factory.mktemp("states")
    expected = {}
    for rule in RULES:
        learner = learner_of(rule, seed=0)
        steps(learner, 4, start=0)
        torch.save(learner.state_dict(), folder / f"{rule}.pt")
        expected[rule] = steps(learner, 2, start=4)
    tests = Path(__file__).parents[1]
    script = f"import sys; sys.path.insert(0, {str(tests)!r}); from pathlib import Path\n"
    script += f"from rules.test_round_trip import resume; resume(Path({str(folder)!r}))"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
    return {rule: (expected[rule], torch.load(folder / f"{rule}-next.pt", weights_only=True)) for rule in RULES}


@pytest.mark.parametrize("rule", RULES)
def test_the_next_gradients_are_identical_in_a_new_process(rule: str, resumed: dict):
    expected, actual = resumed[rule]
    assert set(actual) == set(expected)
    assert all(torch.equal(actual[name], expected[name]) for name in expected)


@pytest.mark.quick
@pytest.mark.parametrize("rule", RULES)
def test_a_state_that_is_loaded_twice_is_the_same(rule: str):
    learner, other = learner_of(rule, seed=0), learner_of(rule, seed=5)
    steps(learner, 2, start=0)
    steps(other, 1, start=7)
    other.load_state_dict(learner.state_dict())
    one, two = steps(learner, 3, start=2), steps(other, 3, start=2)
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.quick
@pytest.mark.parametrize("rule", RULES)
def test_a_state_from_before_the_first_pass_decides_the_feedback(rule: str):
    learner, other = learner_of(rule, seed=0), learner_of(rule, seed=5)
    other.load_state_dict(learner.state_dict())
    one, two = steps(learner, 2, start=0), steps(other, 2, start=0)
    assert all(torch.equal(one[name], two[name]) for name in one)
