"""Calling a module a second time: with other tensors, and from the same random and running state."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn


def replay(module: nn.Module, tensors: dict[str, Tensor], args: Any, kwargs: Any) -> Any:
    """Calls `module` with other tensors in the place of its own; its buffers are not touched.

    Buffers that `tensors` does not name are copies, so running statistics are updated by the live pass only. Tensors
    that are tied stay tied.
    """
    own = {name: id(tensor) for names in (module.named_parameters(), module.named_buffers()) for name, tensor in names}
    given = {own[name]: tensor for name, tensor in tensors.items()}
    # One entry for each owner: functional_call would not find its way back from a module that has two names.
    replaced = {
        f"{owner}.{name}".strip("."): given[id(tensor)]
        for owner, part in module.named_modules()
        for name, tensor in (*part._parameters.items(), *part._buffers.items())
        if id(tensor) in given
    }
    copies = {name: buffer.clone() for name, buffer in module.named_buffers() if own[name] not in given}
    return torch.func.functional_call(module, {**copies, **replaced}, args, kwargs, tie_weights=False)


class Replayed(AbstractContextManager[None]):
    """The state before a live pass, from which a second one starts: it draws the same dropout masks.

    Buffers, too, are as they were, and tensors that are plain attributes: a module may read what it has just updated.
    Afterwards they are again as the live pass left them.
    """

    def __init__(self, model: nn.Module):
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        self.before = random_states(self.device)
        self.modules = list(own_modules(model))
        self.attributes = [plain_tensors(module) for module in self.modules]
        self.buffers: list[tuple[nn.Module, str, Tensor | None]] = [
            (owner, name, buffer.clone()) for owner, name, buffer in state_buffers(model)
        ]

    def _set(self, states: list[Tensor]) -> None:
        torch.set_rng_state(states[0])
        if len(states) > 1:
            getattr(torch, self.device.type).set_rng_state(states[1], self.device)

    def _exchange(self) -> None:
        for index, (owner, name, buffer) in enumerate(self.buffers):
            self.buffers[index] = (owner, name, owner._buffers[name])
            owner._buffers[name] = buffer
        now = [plain_tensors(module) for module in self.modules]
        for module, before, after in zip(self.modules, self.attributes, now, strict=True):
            for name in after.keys() - before.keys():
                del vars(module)[name]
            vars(module).update(before)
        self.attributes = now

    def __enter__(self) -> None:
        self.after = random_states(self.device)
        self._exchange()
        self._set(self.before)

    def __exit__(self, *exception: Any) -> None:
        self._exchange()
        self._set(self.after)


def random_states(device: torch.device) -> list[Tensor]:
    """The states of the random generators of the processor and of another device."""
    on_device = [] if device.type == "cpu" else [getattr(torch, device.type).get_rng_state(device)]
    return [torch.get_rng_state(), *on_device]


def own_modules(model: nn.Module) -> Iterator[nn.Module]:
    """The modules of the user's own classes: torch's and this package's keep nothing from call to call but buffers."""
    for module in model.modules():
        if not type(module).__module__.startswith(("torch.", "widealign.")):
            yield module


def plain_tensors(module: nn.Module) -> dict[str, Tensor]:
    """The attributes of a module that are tensors without being parameters or buffers."""
    return {name: value for name, value in vars(module).items() if isinstance(value, Tensor)}


def state_buffers(model: nn.Module) -> Iterator[tuple[nn.Module, str, Tensor]]:
    """The buffers that a forward pass may read and write. Batch normalisers write what they read in evaluation only."""
    for owner in model.modules():
        if not isinstance(owner, nn.modules.batchnorm._NormBase):
            yield from ((owner, name, buffer) for name, buffer in owner._buffers.items() if buffer is not None)
