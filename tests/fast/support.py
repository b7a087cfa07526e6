"""What the tests of the fast paths share: a learner with kept feedback beside the same one without."""

import torch
from torch import Tensor, nn

import widealign.nn as wide
import widealign.rules
from rules.support import gradients, move

EXAMPLES, BATCH = 9, 4


def ntk_mlp(activation: type[nn.Module] = nn.ReLU) -> nn.Module:
    layers = [wide.Linear(3, 6), activation(), wide.Linear(6, 5), activation(), wide.Linear(5, 2)]
    return nn.Sequential(*layers)


def convolutions(activation: type[nn.Module] = nn.ReLU) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), activation(), wide.Conv2d(4, 5, 3, stride=2), activation(),
        nn.Flatten(), nn.Linear(20, 2),
    )  # fmt: skip


def vectors() -> Tensor:
    return torch.randn(EXAMPLES, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def images() -> Tensor:
    return torch.randn(EXAMPLES, 3, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def pair(build, rule: str = "align-ada", plain: dict | None = None, **options):
    """Two learners on equal models in the middle of training; the second keeps feedback."""
    learners = []
    for choices in (plain or {}, options):
        torch.manual_seed(0)
        learner = widealign.rules.make(rule, build().double(), **choices)
        learners.append(learner)
    return learners


def advance(*learners) -> None:
    for learner in learners:
        move(learner.model)


def batches(steps: int = 6):
    generator = torch.Generator().manual_seed(2)
    return [torch.randperm(EXAMPLES, generator=generator)[:BATCH] for _ in range(steps)]


def update(learner, x: Tensor, index: Tensor | None = None) -> tuple[Tensor, dict[str, Tensor]]:
    learner.zero_grad(set_to_none=True)
    output = learner(x) if index is None else learner(x, index=index)
    target = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    (output - target).square().mean().backward()
    return output.detach(), gradients(learner.model)
