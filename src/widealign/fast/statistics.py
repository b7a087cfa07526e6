"""Statistics of the initial network's normalisers, frozen over the training data.

With them the initial network's values for an example no longer depend on its batch, so that its feedback can be kept.
What changes against the batch's own statistics: the error is carried through the initial network by the Jacobian of
z -> (z - mean) / deviation with fixed mean and deviation; the part that goes through the batch's mean and variance is
gone. The live network keeps normalising by its own batches.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.graph import Snapshot, replay
from widealign.nn import BatchAxisNorm, gather_statistics


class FrozenStatistics:
    """Mean and variance of every `BatchAxisNorm` of a model, kept in a snapshot: they are saved with the learner."""

    def __init__(self, kept: Snapshot):
        self.kept = kept

    @classmethod
    def chosen(cls, which: str, kept: Snapshot, refresh: int | None) -> "FrozenStatistics | None":
        """For the option `feedback_statistics=`: None for those of each batch."""
        if which not in ("batch", "frozen"):
            raise UsageError(f"feedback_statistics= is batch or frozen; it is {which!r}.")
        if which == "frozen" and refresh is not None:
            raise UsageError(
                f'feedback_statistics="frozen" belongs to one initial network, and refresh={refresh} makes a new one '
                "again and again: leave refresh= out, and call refresh() and gather_statistics() yourself."
            )
        return cls(kept) if which == "frozen" else None

    def gather(self, model: nn.Module, weights: dict[str, Tensor], batches: Iterable[Tensor]) -> None:
        """Runs the network with `weights` over `batches`, each normalised by itself, and pools their statistics."""
        norms = _norms(model)
        before = {name: norm.statistics for name, norm in norms.items()}
        try:
            gather_statistics(_At(model, weights), batches)
            for name, norm in norms.items():
                assert norm.statistics is not None
                mean, variance = (s.to(next(iter(weights.values()))) for s in norm.statistics)
                self.kept.take({f"{name}.mean": mean, f"{name}.variance": variance})
        finally:
            for name, norm in norms.items():
                norm.statistics = before[name]

    def forget(self) -> None:
        """They belonged to another initial network."""
        for name in list(self.kept._buffers):
            delattr(self.kept, name)

    @property
    def known(self) -> bool:
        """Whether they have been gathered."""
        return bool(self.kept.values())

    def of(self, name: str) -> tuple[Tensor, Tensor]:
        """Mean and variance of the normaliser of that name."""
        tensors = self.kept.values()
        return tensors[f"{name}.mean"], tensors[f"{name}.variance"]

    @contextlib.contextmanager
    def used_by(self, model: nn.Module) -> Iterator[None]:
        """While it lasts, the model's normalisers use these statistics."""
        if not self.known:
            raise UsageError(
                'feedback_statistics="frozen" needs the statistics of the initial network over the training data: call '
                "learner.gather_statistics(batches) before the first training pass, and after every refresh()."
            )
        norms = _norms(model)
        before = {name: (norm.statistics, norm.training) for name, norm in norms.items()}
        try:
            for name, norm in norms.items():
                norm.statistics, norm.training = self.of(name), False
            yield
        finally:
            for name, norm in norms.items():
                norm.statistics, norm.training = before[name]


class _At(nn.Module):
    """A model called with other weights."""

    def __init__(self, model: nn.Module, weights: dict[str, Tensor]):
        super().__init__()
        self.model, self.weights = model, weights

    def forward(self, *args: Any) -> Any:
        return replay(self.model, self.weights, args, {})


def _norms(model: nn.Module) -> dict[str, BatchAxisNorm]:
    return {name: module for name, module in model.named_modules() if isinstance(module, BatchAxisNorm)}


def deviation(variance: Tensor, eps: float) -> Tensor:
    """1 / sqrt(variance + eps)."""
    return torch.rsqrt(variance + eps)
