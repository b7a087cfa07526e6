"""A second optimizer that does to other tensors what the first does to the network's parameters."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from widealign.errors import UsageError


class Follower:
    """The same optimizer, with the same settings for each parameter, on the companion's weights.

    Settings that a schedule changes are read anew before every step.

    Args:
        optimizer: The network's, or None for plain descent at rate 1: the score does not depend on a constant rate.
        parameters: The network's parameters by name.
        followers: The companion's tensors by the same names.
    """

    def __init__(self, optimizer: Optimizer | None, parameters: Mapping[str, Tensor], followers: Mapping[str, Tensor]):
        self._leader = optimizer
        if isinstance(optimizer, torch.optim.LBFGS):
            raise UsageError("LBFGS takes several passes a step, which cannot be followed: give another optimizer.")
        if optimizer is None:
            self.optimizer: Optimizer = torch.optim.SGD(list(followers.values()), lr=1.0)
            return
        names = {id(p): name for name, p in parameters.items()}
        groups = []
        for group in optimizer.param_groups:
            members = [followers[names[id(p)]] for p in group["params"] if names.get(id(p)) in followers]
            groups.append({**_settings(group), "params": members})
        self._groups = [i for i, group in enumerate(groups) if group["params"]]
        if not self._groups:
            raise UsageError("optimizer= must be the one that trains this model; it holds none of its parameters.")
        known = inspect.signature(type(optimizer).__init__).parameters
        defaults = {name: value for name, value in optimizer.defaults.items() if name in known}
        self.optimizer = type(optimizer)([groups[i] for i in self._groups], **defaults)

    def step(self) -> None:
        """One update from the gradients that lie on the companion's tensors."""
        if self._leader is not None:
            for mine, i in zip(self.optimizer.param_groups, self._groups, strict=True):
                mine.update(_settings(self._leader.param_groups[i]))
        self.optimizer.step()


def _settings(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}
