"""Protocols: how data, weights, evaluation and the choice of an epoch follow from a configuration."""

from pathlib import Path

import torch

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train.protocols.paper import prepare_paper
from widealign.train.protocols.prepared import Prepared
from widealign.train.protocols.sound import prepare_sound
from widealign.train.protocols.tasks import load_task

_PROTOCOLS = {"paper": prepare_paper, "sound": prepare_sound}

__all__ = ["Prepared", "prepare"]


def prepare(
    config: RunConfig, *, device: torch.device, data_dir: Path | None = None, allow_unverified: bool = False
) -> Prepared:
    """Everything that a resolved configuration means: data, network, rule, optimizer, evaluation.

    Raises:
        DataError: the data are missing or damaged, or fewer than needed.
        UsageError: there are fewer training examples than a batch holds.
    """
    task = load_task(config, device=device, data_dir=data_dir, allow_unverified=allow_unverified)
    if len(task.train) < (config.batch_size or 1):
        raise UsageError(
            f"a batch holds {config.batch_size} examples, but only {len(task.train)} train: give a smaller --batch-size"
        )
    return _PROTOCOLS[config.protocol](config, task, device)
