"""Noticing a parameter that is used where no site is, or where no rule will be at work."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint
from torch.utils._pytree import tree_leaves

from widealign.graph.sites import input_parameters


class OutsideUse(TorchFunctionMode):
    """Watches one forward pass for a parameter that is used while its site is not running, or that is used twice.

    Such a use would be trained by plain backpropagation without anybody noticing.
    """

    def __init__(self, model: nn.Module, inside: Callable[[], bool]):
        super().__init__()
        exempt = input_parameters(model)
        learning = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
        self.names = {identity: name for identity, name in learning.items() if identity not in exempt}
        self.inside = inside
        self.found: dict[str, str] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        results = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        if results:
            names = [self.names[id(leaf)] for leaf in tree_leaves((args, kwargs)) if id(leaf) in self.names]
            self.found |= {name: problem for name in names if (problem := self._problem(name, func, results))}
        return result

    def _problem(self, name: str, func: Any, results: list[Tensor]) -> str | None:
        if _is_checkpointed():
            return (
                f"'{name}' is used under torch.utils.checkpoint, which calls modules once more in the backward pass, "
                "where no rule is at work: switch activation checkpointing off"
            )
        if self.inside() or not any(result.requires_grad for result in results):
            return None
        owner, operation = name.rpartition(".")[0], getattr(func, "__name__", str(func))
        return (
            f"'{name}' is used (by {operation}) while its site '{owner or 'the model'}' is not being called: call "
            "the module itself, or name the module that uses it in sites="
        )

    def problems(self) -> Iterator[str]:
        """What was found, each with its remedy."""
        yield from self.found.values()


def _is_checkpointed() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == checkpoint.__file__:
            return True
        frame = frame.f_back
    return False
