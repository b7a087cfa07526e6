"""The one node of a step with kept Jacobians: the output's error reaches every tap as J^T e, with no walk back."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

_SUMMED = (torch.float32, torch.float64)


def errors(gradients: Sequence[Tensor]) -> Tensor:
    """The gradients that arrive at the outputs, as one row an example."""
    return torch.cat([g.flatten(1) if g.dim() > 1 else g[:, None] for g in gradients], dim=1)


def signal(e: Tensor, jacobians: Tensor, rows: Tensor) -> Tensor:
    """s_i = J_i^T e_i for the examples that are kept in `rows` of `jacobians` (examples, outputs, features)."""
    if jacobians.dtype not in _SUMMED or jacobians.dtype != e.dtype:
        return torch.bmm(e.unsqueeze(1), jacobians.index_select(0, rows).to(e.dtype)).squeeze(1)
    # A weighted sum of rows of one long table: read where they lie, without a copy.
    outputs = jacobians.shape[1]
    table_rows = rows.to(e.device).unsqueeze(1) * outputs + torch.arange(outputs, device=e.device)
    return F.embedding_bag(table_rows, jacobians.flatten(0, 1), mode="sum", per_sample_weights=e)


def inject(
    outputs: Sequence[Tensor], taps: Sequence[Tensor], jacobians: Sequence[Tensor], rows: Tensor
) -> list[Tensor]:
    """`outputs` as they are; behind them, each of `taps` learns from J^T e with its own Jacobians."""
    return list(_Inject.apply(len(outputs), jacobians, rows, *outputs, *taps))


class _Inject(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, count: int, jacobians: Any, rows: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.count, ctx.jacobians, ctx.rows = count, jacobians, rows
        ctx.taps = [(tap.shape, tap.dtype, tap.requires_grad) for tap in tensors[count:]]
        return tuple(out.detach() for out in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        e = errors(gradients)
        signals = [
            _shaped(signal(e, kept, ctx.rows), shape).to(dtype) if learns else None
            for kept, (shape, dtype, learns) in zip(ctx.jacobians, ctx.taps, strict=True)
        ]
        return (None, None, None, *[None] * ctx.count, *signals)


def _shaped(rows: Tensor, shape: Sequence[int]) -> Tensor:
    assert rows.numel() == math.prod(shape)
    return rows.view(shape)
