"""One error to many places: the backward pass of direct feedback."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from widealign.graph.layout import is_channels_last


def spread_error(
    outputs: Sequence[Tensor], taps: Sequence[Tensor], matrices: Sequence[Tensor], shared: Sequence[bool]
) -> tuple[Tensor, ...]:
    """The outputs as they are; the error e that arrives at them reaches every tap as B e, with its matrix B.

    Args:
        outputs: Of the model, the batch in front.
        taps: Where the error enters, the batch in front.
        matrices: B for each tap: (features, outputs), or (channels, outputs) where it is shared.
        shared: Whether all locations of a tap share B e in equal parts.
    """
    return _Spread.apply(len(outputs), list(shared), *matrices, *outputs, *taps)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, count: int, shared: list[bool], *tensors: Tensor) -> tuple[Tensor, ...]:
        taps = len(shared)
        matrices, outputs, entering = tensors[:taps], tensors[taps : taps + count], tensors[taps + count :]
        ctx.save_for_backward(*matrices)
        ctx.shared, ctx.shapes = shared, [h.shape for h in entering]
        ctx.last = [is_channels_last(h) and len(h) == len(outputs[0]) for h in entering]
        return tuple(out.detach() for out in outputs)

    @staticmethod
    def backward(ctx: Any, *errors: Any) -> Any:
        e = torch.cat([error.flatten(1) if error.dim() > 1 else error[:, None] for error in errors], dim=1)
        rows = zip(ctx.saved_tensors, ctx.shapes, ctx.shared, ctx.last, strict=True)
        signals = [_to_tap(e.to(matrix.dtype), matrix, shape, *how) for matrix, shape, *how in rows]
        return (None, None, *[None] * len(signals), *errors, *signals)


def _to_tap(e: Tensor, matrix: Tensor, shape: torch.Size, shared: bool, channels_last: bool) -> Tensor:
    """B e in the shape of a tap, and in its layout in memory."""
    if shared:
        ones = (1,) * (len(shape) - 2)
        return (e @ matrix.T / math.prod(shape[2:])).reshape(*shape[:2], *ones).expand(shape)
    if channels_last:
        _, channels, height, width = shape
        rows = matrix.unflatten(0, (channels, -1)).transpose(0, 1).flatten(0, 1)
        return (e @ rows.T).view(-1, height, width, channels).permute(0, 3, 1, 2)
    return (e @ matrix.T).reshape(shape)
