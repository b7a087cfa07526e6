"""When feedback may be kept: the initial network's values for one example are always the same.

They must not depend on the other examples of the batch, on random numbers, or on parameters that keep learning.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from widealign.fast.initial import InitialNetwork, examples, taps, values
from widealign.graph import input_parameters
from widealign.nn import BatchAxisNorm

_FROZEN = 'take their statistics over the training data with feedback_statistics="frozen"'
_NONE = 'use cache="none"'


def obstacles(model: nn.Module, frozen_statistics: bool) -> Iterator[str]:
    """Modules of `model` because of which feedback cannot be kept, each with a remedy."""
    for name, module in model.named_modules():
        what = f"'{name or 'the model'}' ({type(module).__name__})"
        if isinstance(module, BatchAxisNorm) and not frozen_statistics:
            yield f"{what} normalises by the statistics of the batch: {_FROZEN}, or {_NONE}"
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (module.training or module.running_mean is None):
            yield f"{what} normalises by the statistics of the batch: put it in eval mode, or {_NONE}"
        if isinstance(module, nn.modules.dropout._DropoutNd) and module.p and module.training:
            yield f"{what} draws another mask at each visit of an example: set p=0, or {_NONE}"
    names = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
    for identity in input_parameters(model):
        if identity in names:
            yield (
                f"'{names[identity]}' is an input of the initial network that keeps learning: "
                f"set requires_grad_(False), or {_NONE}"
            )


def differences(network: InitialNetwork, args: Any, kwargs: Any, batch: int) -> Iterator[str]:
    """Sites whose values for the first half of a batch are others when that half comes by itself; the first is named.

    What `obstacles` cannot see: functions, and modules of the user's own.
    """
    half = max(1, batch // 2)
    chosen = torch.arange(half)
    whole = values(network, args, kwargs)
    part = values(network, *examples((args, kwargs), batch, chosen))
    for site, calls in whole.outputs.items():
        pairs = zip(taps({site: calls}), taps({site: part.outputs.get(site, [])}), strict=False)
        for full, alone in pairs:
            if not _same(full, alone, half, batch):
                yield f"'{site}' has other values for an example when the rest of its batch is left out: {_NONE}"
                return


def _same(full: Tensor, alone: Tensor, half: int, batch: int) -> bool:
    if len(full) != batch or len(alone) != half:
        return False
    size = full.abs().max().clamp(min=1e-30)
    return bool((full[:half] - alone).abs().max() <= 1e4 * torch.finfo(full.dtype).eps * size)
