"""What a protocol hands to a run, and the parts that both protocols build in the same way."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from widealign.config import RunConfig
from widealign.train.protocols.tasks import Task
from widealign.train.record import Criterion
from widealign.train.trial import Batch, Trial


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """A trial, how its epochs are judged, and what to write down about its data."""

    trial: Trial
    criterion: Criterion
    description: dict[str, Any]


def precision(config: RunConfig, device: torch.device) -> AbstractContextManager[Any]:
    """Forward passes in lower precision where the configuration says so."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=config.precision == "bf16")


def forward_of(learner: nn.Module, config: RunConfig, device: torch.device) -> Callable[[Tensor], Tensor]:
    """The learner as the loop calls it: compiled and in lower precision if so configured, its output in float32."""
    called: Callable[[Tensor], Tensor] = torch.compile(learner) if config.compile else learner
    if config.precision == "float32":
        return called

    def forward(inputs: Tensor) -> Tensor:
        with precision(config, device):
            output = called(inputs)
        return output.float()

    return forward


def describe(task: Task, *, evaluated: int, steps_per_epoch: int) -> dict[str, Any]:
    """The split and the data, for config.json: by hash, by md5, by count."""
    sizes = {
        "train": len(task.train),
        "validation": 0 if task.validation is None else len(task.validation),
        "evaluation": evaluated,
        "steps_per_epoch": steps_per_epoch,
    }
    return {"split": task.split.hash, "data": dict(task.files), "sizes": sizes}


def evaluate(
    forward: Callable[[Tensor], Tensor], loss: Callable[[Tensor, Tensor], Tensor], batches: Iterable[Batch]
) -> tuple[float, float | None]:
    """Mean loss and accuracy over examples; no accuracy where there are no labels."""
    total, correct, count, labelled = 0.0, 0, 0, 0
    for batch in batches:
        output = forward(batch.inputs)
        total += float(loss(output, batch.targets)) * len(batch.inputs)
        count += len(batch.inputs)
        if batch.labels is not None:
            correct += int((output.argmax(1) == batch.labels).sum())
            labelled += len(batch.labels)
    return total / count, correct / labelled if labelled else None
