"""Two processes with half a batch each learn what one process learns from the joined batch."""

import os
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import widealign.nn as wide
import widealign.rules
from rules.support import RULES, assert_same_update, gradients, move

STEPS = 3


def learner_of(rule: str) -> widealign.rules.Learner:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 5), nn.LayerNorm(5), nn.ReLU(), wide.Linear(5, 2)
    )
    learner = widealign.rules.make(rule, model.double())
    move(model)
    return learner


def data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(8, 2, 4, 4, generator=generator).double(), torch.randn(8, 2, generator=generator).double()


def train(model: nn.Module, x: Tensor, y: Tensor) -> list[dict[str, Tensor]]:
    """The gradients of a few steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inner = model.module.model if isinstance(model, DistributedDataParallel) else model.model
    seen = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        seen.append(gradients(inner))
        optimizer.step()
    return seen


def worker(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    x, y = data()
    half = slice(4 * rank, 4 * rank + 4)
    found = {}
    for rule in RULES:
        unused = rule == "last-layer"  # its other parameters get no gradient, and DDP wants to be told
        model = DistributedDataParallel(learner_of(rule), broadcast_buffers=False, find_unused_parameters=unused)
        try:
            found[rule] = train(model, x[half], y[half])
        except RuntimeError as error:
            found[rule] = str(error)
    torch.save(found, Path(folder) / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    folder = tmp_path_factory.mktemp("ddp")
    mp.spawn(worker, args=(str(folder),), nprocs=2)
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="this build of torch has no gloo")
@pytest.mark.parametrize("rule", RULES)
def test_two_processes_are_one(rule: str, found: list[dict]):
    expected = train(learner_of(rule), *data())
    for rank in range(2):
        assert not isinstance(found[rank][rule], str), found[rank][rule]
        for step in range(STEPS):
            assert_same_update(found[rank][rule][step], expected[step], rtol=1e-9)
