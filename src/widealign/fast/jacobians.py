"""Kept Jacobians: J_l(θ0) of every training example, for every site call.

    s_l = J_l(θ0)^T e   is one small matrix-vector product an example: no frozen pass, no walk back.

Costs (outputs · features) numbers for each example and site call; filled at an example's first visit by one frozen
pass and one backward walk for each output.
"""

from typing import Any

import torch
from torch import Tensor

from widealign.fast.initial import InitialNetwork, Listeners, probes_for, taps
from widealign.fast.inject import inject
from widealign.fast.rows import store
from widealign.graph import map_signals, signals


class Jacobians:
    """A store of Jacobians: one tensor (examples, outputs, features) for each tap."""

    name = "jacobian"

    def __init__(self, dtype: torch.dtype | None, most: int):
        self.dtype, self.most = dtype, most
        self.kept: list[Tensor] = []

    @staticmethod
    def size(live: Listeners, outputs: list[Tensor], dtype: torch.dtype | None) -> int:
        """Bytes for one example."""
        width = sum(out[0].numel() for out in outputs)
        return sum(width * tap[0].numel() * (dtype or tap.dtype).itemsize for tap in taps(live))

    def fill(self, network: InitialNetwork, live: Listeners, first: int, count: int, args: Any, kwargs: Any) -> None:
        """Stores the Jacobians of `count` new examples, whose inputs are given, from row `first` on."""
        with torch.enable_grad():
            probes = probes_for(live, count)
            outputs = signals(network.at(network.listening(probes), args, kwargs))
        fresh = jacobians(outputs, taps(probes))
        self.kept = store(self.kept, first, [j.to(self.dtype or j.dtype) for j in fresh], self.most)

    def teach(self, network: InitialNetwork, output: Any, live: Listeners, rows: Tensor, args: Any, kwargs: Any) -> Any:
        """`output`, whose error reaches every live site output through its Jacobian."""
        fresh = iter(inject(signals(output), taps(live), self.kept, rows))
        return map_signals(lambda _: next(fresh), output)


def jacobians(outputs: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """∂outputs/∂inputs of each example by itself, (examples, outputs, features), one for each of `inputs`.

    One backward pass for each output serves all examples, because none of them depends on another.
    """
    flat = torch.cat([out.reshape(len(out), -1) for out in outputs], dim=1)
    found = [tap.new_empty(len(flat), flat.shape[1], tap[0].numel()) for tap in inputs]
    for column in range(flat.shape[1]):
        last = column + 1 == flat.shape[1]
        rows = torch.autograd.grad(flat[:, column].sum(), inputs, retain_graph=not last, allow_unused=True)
        for jacobian, row in zip(found, rows, strict=True):
            jacobian[:, column] = 0 if row is None else row.flatten(1)
    return found
