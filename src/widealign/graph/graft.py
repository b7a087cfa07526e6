"""Grafting: the values of one graph, the gradients of another. The only trick that the rules are made of."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from widealign.errors import UsageError


class _Graft(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, *sources: Tensor) -> Tensor:
        ctx.count = len(sources)
        return value.detach()  # a fresh tensor on the same memory: in-place operations after it just work

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, *gradients * ctx.count)


def graft(value: Tensor, *sources: Tensor) -> Tensor:
    """Returns `value`, bit for bit, and hands the gradient that arrives to every one of `sources`.

    The same as `value.detach() + sum(s - s.detach() for s in sources)`, without the arithmetic.

    Example:
        >>> weight, other = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> out = graft(3 * weight, 7 * other)
        >>> out.backward()
        >>> out.item(), weight.grad, other.grad
        (3.0, None, tensor([7.]))
    """
    learning = [s for s in sources if s.requires_grad]
    if any(s.shape != value.shape for s in learning):
        raise UsageError(_differ(f"shape {tuple(value.shape)}", f"{[tuple(s.shape) for s in sources]}"))
    return _Graft.apply(value.detach(), *learning) if learning else value.detach()


def is_signal(leaf: Any) -> bool:
    """Whether a leaf of a module's inputs or outputs is a tensor that can carry a gradient."""
    return isinstance(leaf, Tensor) and (leaf.is_floating_point() or leaf.is_complex())


def map_signals(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """Applies `function` to every tensor of nested tuples, lists and dicts that can carry a gradient."""
    if isinstance(tree, Tensor):
        return function(tree) if is_signal(tree) else tree
    if type(tree) is tuple:  # most of what modules take; tree_map is slow
        return tuple([map_signals(function, part) for part in tree])
    if type(tree) is dict and not tree:
        return tree
    return tree_map(lambda leaf: function(leaf) if is_signal(leaf) else leaf, tree)


def signals(tree: Any) -> list[Tensor]:
    """The tensors of `tree` that can carry a gradient, in order."""
    if isinstance(tree, Tensor):
        return [tree] if is_signal(tree) else []
    if type(tree) is tuple:
        return [leaf for part in tree for leaf in signals(part)]
    return [leaf for leaf in tree_flatten(tree)[0] if is_signal(leaf)] if tree else []


def detached(tree: Any) -> Any:
    """`tree` with every tensor cut from its graph."""
    return map_signals(Tensor.detach, tree)


def graft_tree(values: Any, *sources: Any) -> Any:
    """`graft` for two or more trees of the same structure."""
    if isinstance(values, Tensor):
        return graft(values, *sources) if is_signal(values) else values
    leaves, structure = tree_flatten(values)
    rows = [tree_flatten(source)[0] for source in sources]
    if any(len(row) != len(leaves) for row in rows):
        raise UsageError(_differ(f"{len(leaves)} tensors", f"{[len(row) for row in rows]}"))
    grafted = (graft(leaf, *row) if is_signal(leaf) else leaf for leaf, *row in zip(leaves, *rows, strict=True))
    return tree_unflatten(grafted, structure)


def _differ(one: str, others: str) -> str:
    return (
        "The live and the initial network must call the same modules with inputs of the same shapes, or errors cannot "
        f"be handed on: a module returned {one} in one and {others} in the other. If weights decide what is called "
        "(routing, early exit), name the module that holds that part in sites=."
    )


class _Refuse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, anchor: Tensor, reason: str) -> Tensor:
        ctx.reason = reason
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise UsageError(ctx.reason)


def refuse_backward(tree: Any, anchor: Tensor, reason: str) -> Any:
    """`tree`, whose backward pass raises `reason`."""
    return map_signals(lambda leaf: _Refuse.apply(leaf, anchor, reason), tree)
