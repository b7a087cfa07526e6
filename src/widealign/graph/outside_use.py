"""Noticing a parameter that is used where no site is."""

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from widealign.graph.sites import input_parameters


class OutsideUse(TorchFunctionMode):
    """Watches one forward pass for a parameter that is used while its site is not running.

    Such a use would be trained by plain backpropagation without anybody noticing.
    """

    def __init__(self, model: nn.Module, inside: Callable[[], bool]):
        super().__init__()
        exempt = input_parameters(model)
        self.names = {id(p): name for name, p in model.named_parameters() if id(p) not in exempt}
        self.inside = inside
        self.found: dict[str, str] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.inside() and isinstance(result, Tensor) and result.requires_grad:
            for leaf in tree_leaves((args, kwargs)):
                if id(leaf) in self.names:
                    self.found[self.names[id(leaf)]] = getattr(func, "__name__", str(func))
        return result

    def problems(self) -> Iterator[str]:
        """What was found, each with its remedy."""
        for name, operation in self.found.items():
            owner = name.rpartition(".")[0]
            yield (
                f"'{name}' is used (by {operation}) while its site '{owner or 'the model'}' is not being called: call "
                "the module itself, or name the module that uses it in sites="
            )
