"""Which row of a store an example has."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Rows:
    """Row numbers by example number, given out in the order of the first visits."""

    def __init__(self) -> None:
        self.known = torch.empty(0, dtype=torch.int64)
        self.count = 0

    def find(self, index: Tensor) -> Tensor:
        """The row of each example, -1 for one that has none."""
        inside = index < len(self.known)
        found = self.known[index.clamp(max=max(len(self.known) - 1, 0))] if len(self.known) else index
        return torch.where(inside, found, -1)

    def new(self, index: Tensor) -> Tensor:
        """The places in a batch of the examples that have no row, each once."""
        missing = self.find(index) < 0
        first = {int(number): place for place, number in reversed(list(enumerate(index))) if missing[place]}
        return torch.tensor(sorted(first.values()), dtype=torch.int64)

    def add(self, index: Tensor) -> None:
        """Gives rows to new examples."""
        if (most := int(index.max()) + 1) > len(self.known):
            grown = torch.full((max(most, 2 * len(self.known)),), -1)
            grown[: len(self.known)] = self.known
            self.known = grown
        self.known[index] = torch.arange(self.count, self.count + len(index))
        self.count += len(index)


def store(kept: list[Tensor], first: int, fresh: Sequence[Tensor], most: int) -> list[Tensor]:
    """`kept` with `fresh` written from row `first` on; new memory, twice as much and at most `most` rows, when full."""
    needed = first + len(fresh[0])
    if not kept or needed > len(kept[0]):
        capacity = max(needed, min(most, 2 * needed))
        grown = [new.new_empty(capacity, *new.shape[1:]) for new in fresh]
        for old, new in zip(kept, grown, strict=False):
            new[:first] = old[:first]
        kept = grown
    for tensor, new in zip(kept, fresh, strict=True):
        tensor[first:needed] = new
    return kept
