"""Nested inputs and outputs as vectors, so that a Jacobian is a matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


@dataclass(frozen=True, kw_only=True, eq=False)
class Packed:
    """The floating-point tensors of a nested structure as one vector, and the way back."""

    vector: Tensor
    leaves: list[Any]
    spec: TreeSpec

    @property
    def tensors(self) -> list[Tensor]:
        """The floating-point tensors of the structure, in order."""
        return [leaf for leaf in self.leaves if _is_floating(leaf)]

    def unpack(self, vector: Tensor) -> Any:
        """The structure with the entries of `vector`; what is not floating-point stays as it was."""
        parts = iter(self.split(vector))
        return tree_unflatten([next(parts) if _is_floating(leaf) else leaf for leaf in self.leaves], self.spec)

    def split(self, vector: Tensor) -> list[Tensor]:
        """The tensors whose entries `vector` holds, as fresh tensors that may be changed in place."""
        parts = vector.split([tensor.numel() for tensor in self.tensors])
        return [part.reshape(tensor.shape).clone() for part, tensor in zip(parts, self.tensors, strict=True)]


def pack(structure: Any) -> Packed:
    """Flatten a structure of tensors. The vector is a copy, and differentiable."""
    leaves, spec = tree_flatten(structure)
    kept = [leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    floating = [leaf.reshape(-1) for leaf in leaves if _is_floating(leaf)]
    vector = torch.cat(floating) if floating else torch.zeros(0, dtype=torch.float64)
    return Packed(vector=vector, leaves=kept, spec=spec)


def to_float64(structure: Any) -> Any:
    """The same structure with float64 tensors on the CPU, detached."""
    leaves, spec = tree_flatten(structure)
    return tree_unflatten([_double(leaf) for leaf in leaves], spec)


def jacobian(function: Callable[[Tensor], Tensor], point: Tensor) -> Tensor:
    """The matrix d function / d point of two vectors, shape (values, entries of `point`)."""
    point = point.detach().clone().requires_grad_()
    with torch.enable_grad():
        value = function(point)
    if not value.requires_grad or 0 in (value.numel(), point.numel()):
        return point.new_zeros(value.numel(), point.numel())
    rows = torch.eye(value.numel(), dtype=value.dtype)
    return torch.autograd.grad(value, point, rows, is_grads_batched=True, materialize_grads=True)[0]


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point()


def _double(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    return leaf.detach().to("cpu", torch.float64 if leaf.is_floating_point() else leaf.dtype).clone()
