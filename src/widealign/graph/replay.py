"""Calling a module a second time: with other tensors, and from the same random and running state."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.utils._pytree import tree_map

_PLAIN = (Tensor, int, float, complex, str, type(None))


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
    with nullcontext() if torch.compiler.is_compiling() else _nothing_cached():
        return torch.func.functional_call(module, {**copies, **replaced}, args, kwargs, tie_weights=False)


@contextmanager
def _nothing_cached() -> Generator[None, None, None]:
    """Under `parametrize.cached()`, what was computed from the live tensors is not taken for what other ones give."""
    enabled, parametrize._cache_enabled = parametrize._cache_enabled, 0
    try:
        yield
    finally:
        parametrize._cache_enabled = enabled


def copied(tree: Any) -> Any:
    """New containers with copies of all tensors, for a second call of what may change its inputs in place."""
    return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, tree)


class Replayed(AbstractContextManager[None]):
    """The state before a live pass, from which a second one starts: it draws the same dropout masks.

    Buffers, too, are as they were, and attributes that are plain tensors or numbers, and generators of a module's own:
    a module may read what it has just updated. Afterwards they are again as the live pass left them.
    """

    def __init__(self, model: nn.Module):
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        self.before = random_states(self.device)
        self.modules = list(own_modules(model))
        self.attributes = [plain_attributes(module) for module in self.modules]
        self.generators = [(g, g.get_state()) for module in self.modules for g in own_generators(module)]
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
        now = [plain_attributes(module) for module in self.modules]
        for module, before, after in zip(self.modules, self.attributes, now, strict=True):
            for name in after.keys() - before.keys():
                del vars(module)[name]
            vars(module).update(before)
        self.attributes = now
        for index, (generator, state) in enumerate(self.generators):
            self.generators[index] = (generator, generator.get_state())
            generator.set_state(state)

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


def plain_attributes(module: nn.Module) -> dict[str, Any]:
    """The attributes of a module that are numbers or words, or tensors without being parameters or buffers."""
    return {name: value for name, value in vars(module).items() if isinstance(value, _PLAIN)}


def own_generators(module: nn.Module) -> list[torch.Generator]:
    """The random generators that a module holds."""
    return [value for value in vars(module).values() if isinstance(value, torch.Generator)]


def state(model: nn.Module) -> list[Any]:
    """Copies of all that a forward pass may change, and read when it is called again."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    tensors = [*random_states(device), *(buffer.clone() for _, _, buffer in state_buffers(model))]
    modules = list(own_modules(model))
    generators = [generator.get_state() for module in modules for generator in own_generators(module)]
    return [*tensors, *generators, *(plain_attributes(module) for module in modules)]


def same_state(one: list[Any], other: list[Any]) -> bool:
    """Whether nothing has changed between two states of a model."""
    return len(one) == len(other) and all(map(_same, one, other))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return one is other or (isinstance(other, Tensor) and torch.equal(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(one == other)


def state_buffers(model: nn.Module) -> Iterator[tuple[nn.Module, str, Tensor]]:
    """The buffers that a forward pass may read and write. Batch normalisers write what they read in evaluation only."""
    for owner in model.modules():
        if not isinstance(owner, nn.modules.batchnorm._NormBase):
            yield from ((owner, name, buffer) for name, buffer in owner._buffers.items() if buffer is not None)
