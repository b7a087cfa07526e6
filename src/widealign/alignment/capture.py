"""What went into a learner and which error came back to its output, without changing either."""

import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from widealign.graph import Replayed, input_parameters, signals
from widealign.rules import Learner, learner_of


class Given(NamedTuple):
    """What one training forward pass was given: inputs, the random state before it, weights if they are asked for."""

    args: Any
    kwargs: Any
    replayed: Replayed
    weights: Mapping[str, Tensor] | None = None


class Taught(NamedTuple):
    """A pass and ∂L/∂output for each of its outputs (None for an output that the loss does not use)."""

    given: Given
    errors: tuple[Tensor | None, ...]


class Capture:
    """Hooks on a learner (or a plain model) that keep the error e = ∂L/∂f of every backward pass until it is taken.

    The error is what autograd hands to the learner's output anyway, so it costs nothing and fits any loss.

    Attributes:
        updated: Set by others when the weights are updated; taken back by the next forward pass.
        keeping: Set by others: parameters whose values are to be kept with the passes that come.
    """

    def __init__(self, learner: nn.Module):
        self._given: Given | None = None
        self._latest: tuple[Given, list[Tensor]] | None = None
        self._taught: list[Taught] = []
        self._done: Given | None = None
        self.updated = False
        self.keeping: Mapping[str, Tensor] | None = None
        inputs = input_parameters(learner)
        self._own = next((n, p) for n, p in learner.named_parameters() if p.requires_grad and id(p) not in inputs)
        handles = [
            learner.register_forward_pre_hook(_Weak(self, "_enter"), with_kwargs=True),
            learner.register_forward_hook(_Weak(self, "_leave"), with_kwargs=True),
        ]
        self.close = weakref.finalize(self, _remove, handles)

    @property
    def arrived(self) -> bool:
        """Whether an error is there that has not been taken."""
        return bool(self._taught)

    def take(self, loss: Tensor | None = None) -> list[Taught]:
        """Everything since the last time, in order; several passes where gradients are accumulated.

        Args:
            loss: A loss whose backward pass is still to come: its error is then computed here, from the latest pass.
        """
        taken, self._taught = self._taught, []
        latest, self._latest = self._latest, None
        if not taken and latest is not None and loss is not None and loss.requires_grad:
            given, outputs = latest
            errors = torch.autograd.grad(loss, outputs, retain_graph=True, allow_unused=True)
            self._taught.clear()
            self._done = given
            taken = [Taught(given, errors)]
        return taken

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._given = None
        name, parameter = self._own
        owner, _, leaf = name.rpartition(".")
        if getattr(module.get_submodule(owner), leaf) is not parameter:
            return  # a second pass of a plain model with other tensors in place of its own
        self.updated = False
        if module.training and torch.is_grad_enabled():
            inner = learner_of(module)
            inputs, named = inner.kept((args, kwargs)) if isinstance(inner, Learner) else (args, kwargs)
            kept = None if self.keeping is None else {name: p.detach().clone() for name, p in self.keeping.items()}
            self._given = Given(inputs, named, Replayed(module), kept)

    def _leave(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        given, self._given = self._given, None
        outputs = [leaf for leaf in signals(output) if leaf.requires_grad]
        if given is None or not outputs:
            return
        self._latest = (given, outputs)
        torch.autograd.graph.register_multi_grad_hook(outputs, _Arrive(self, given))


class _Arrive:
    """Holds no output: a graph that held itself would never be freed."""

    def __init__(self, owner: Capture, given: Given):
        self.owner, self.given = weakref.ref(owner), given

    def __call__(self, errors: Any) -> None:
        owner = self.owner()
        if owner is not None and owner._done is not self.given:
            owner._taught.append(Taught(self.given, tuple(None if e is None else e.detach() for e in errors)))


class _Weak:
    """A hook that does not keep its owner alive."""

    def __init__(self, owner: Capture, method: str):
        self.owner, self.method = weakref.ref(owner), method

    @torch.compiler.disable
    def __call__(self, *args: Any) -> None:
        owner = self.owner()
        if owner is not None:
            getattr(owner, self.method)(*args)


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
