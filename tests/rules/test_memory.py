"""No growth over a thousand steps."""

import gc
import os
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import widealign.rules
from rules.cases import mlp, squared
from rules.support import RULES

BATCH = 200  # one step's activities are 30 kB, so a thousand steps would keep 30 MB


def tensors() -> int:
    return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("rule", RULES)
def test_a_thousand_steps_leave_nothing_behind(rule: str):
    torch.manual_seed(0)
    learner = widealign.rules.make(rule, mlp(nn.Tanh))
    optimizer = torch.optim.SGD(learner.parameters(), lr=1e-3)
    x = torch.randn(BATCH, 3)

    def steps(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            optimizer.zero_grad()
            squared(learner(x)).backward()
            optimizer.step()
        gc.collect()
        return tensors(), len(gc.get_objects()), resident_bytes()

    before, after = steps(100), steps(1000)
    assert after[0] <= before[0], "tensors"  # fewer, if another test's were still around
    assert after[1] <= before[1] + 20, "objects"
    assert after[2] <= before[2] + 10e6, "bytes"


@pytest.mark.parametrize("rule", RULES)
def test_nothing_outlives_a_step(rule: str):
    """With the collector of cycles switched off: nothing may depend on it."""
    torch.manual_seed(0)
    learner = widealign.rules.make(rule, mlp(nn.Tanh, nn.Dropout(0.2)))
    x = torch.randn(4, 3)
    optimizer = torch.optim.SGD(learner.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        squared(learner(x)).backward()
        optimizer.step()

    for _ in range(3):
        step()
    gc.collect()
    gc.disable()
    try:
        before = tensors()
        for _ in range(20):
            step()
        assert tensors() <= before
        squared(learner(x))  # a pass without backward
        learner.eval()(x)
        learner.train()
        optimizer.zero_grad()
        assert tensors() <= before
    finally:
        gc.enable()
