"""Calling a module a second time: with other tensors, and with the same random numbers."""

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn


def replay(module: nn.Module, tensors: dict[str, Tensor], args: Any, kwargs: Any) -> Any:
    """Calls `module` with other tensors in the place of its own; its buffers are not touched.

    Buffers that `tensors` does not name are copies, so running statistics are updated by the live pass only.
    """
    copies = {name: buffer.clone() for name, buffer in module.named_buffers() if name not in tensors}
    return torch.func.functional_call(module, {**copies, **tensors}, args, kwargs)


class Replayed(AbstractContextManager[None]):
    """The random state before a live pass, so that a second pass draws the same dropout masks."""

    def __init__(self, model: nn.Module):
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        self.before = self._get()

    def _get(self) -> tuple[Tensor, Tensor | None]:
        on_device = None if self.device.type == "cpu" else getattr(torch, self.device.type).get_rng_state(self.device)
        return torch.get_rng_state(), on_device

    def _set(self, state: tuple[Tensor, Tensor | None]) -> None:
        torch.set_rng_state(state[0])
        if state[1] is not None:
            getattr(torch, self.device.type).set_rng_state(state[1], self.device)

    def __enter__(self) -> None:
        self.after = self._get()
        self._set(self.before)

    def __exit__(self, *exception: Any) -> None:
        self._set(self.after)
