"""Noticing that ranks of a distributed run remember different initial networks."""

import warnings

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parameter import is_lazy


def fingerprint(model: nn.Module) -> Tensor:
    """The sum of all weights, its bits as an integer, which no change of dtype touches."""
    total = sum(p.detach().double().sum().item() for p in model.parameters() if not is_lazy(p))
    return torch.tensor(total, dtype=torch.float64).view(torch.int64)


def warn_if_changed(model: nn.Module, made_with: Tensor, learner: str) -> None:
    """Warns if, in a distributed run, the weights are not those that a learner was made with.

    DistributedDataParallel copies rank 0's weights to all ranks, and rank 0's buffers too unless it is told otherwise.
    `made_with` is such a buffer, so it tells whether what the learner remembers has come along.
    """
    several = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    if several and not torch.equal(made_with.cpu(), fingerprint(model)):
        warnings.warn(
            f"Rank {dist.get_rank()}: the weights changed between the making of {learner} and its first training pass. "
            "If DistributedDataParallel did it, ranks remember different initial networks: make the same model on "
            "every rank (one seed), or give DistributedDataParallel forward_sync_buffers=False, or no such option, in "
            "the place of broadcast_buffers=False.",
            stacklevel=5,
        )
