"""The paper's normalisation: every location and channel over the batch axis."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class BatchAxisNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps), with mean and variance over the batch, separately for each location.

    No scale, no shift, no running averages: the batch's own statistics also in evaluation, unless `gather_statistics`
    has frozen others.

    Args:
        eps: Added to the variance; 1e-6 in the authors' scripts.
    """

    def __init__(self, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.statistics: tuple[Tensor, Tensor] | None = None
        self.gathered: list[tuple[int, Tensor, Tensor]] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Normalises over the first axis; the result has the memory layout of `x`."""
        if self.gathered is not None:
            variance, mean = torch.var_mean(x.detach().double(), 0, correction=0)
            self.gathered.append((len(x), mean, variance + mean.square()))
        if self.statistics is not None and not self.training:
            mean, variance = (s.to(x) for s in self.statistics)
            return (x - mean) * torch.rsqrt(variance + self.eps)
        last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
        flat = x.permute(0, 2, 3, 1) if last else x
        normal = nn.functional.batch_norm(flat.flatten(1), None, None, training=True, eps=self.eps)
        return normal.view(flat.shape).permute(0, 3, 1, 2) if last else normal.view(x.shape)

    def extra_repr(self) -> str:
        """The epsilon."""
        return f"eps={self.eps}"

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        if self.statistics is not None:
            self.statistics = (fn(self.statistics[0]), fn(self.statistics[1]))
        return super()._apply(fn, recurse)


def gather_statistics(model: nn.Module, batches: Iterable[Tensor]) -> None:
    """Freezes the statistics that evaluation uses: those of all examples of `batches`, pooled.

    While they are gathered, each batch is normalised by its own statistics, as in training. Afterwards the output for
    an example no longer depends on the others of its batch.
    """
    norms = [module for module in model.modules() if isinstance(module, BatchAxisNorm)]
    for norm in norms:
        norm.statistics, norm.gathered = None, []
    try:
        with torch.no_grad():
            for batch in batches:
                model(batch)
        for norm in norms:
            counts = torch.tensor([count for count, _, _ in norm.gathered or []], dtype=torch.float64)
            shares = counts / counts.sum()
            rows = norm.gathered or []
            mean = sum((share * m for share, (_, m, _) in zip(shares, rows, strict=True)), torch.tensor(0.0))
            square = sum((share * s for share, (_, _, s) in zip(shares, rows, strict=True)), torch.tensor(0.0))
            norm.statistics = (mean, square - mean.square())
    finally:
        for norm in norms:
            norm.gathered = None
