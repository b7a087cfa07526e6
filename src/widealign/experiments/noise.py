"""How far cells may differ by chance, as one seed or several tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

from widealign.experiments.intervals import difference_interval
from widealign.experiments.verdicts import Number

Pair = tuple[Number, Number]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Of the difference of two cells, or of several such differences together.

    Attributes:
        half: Half the 95 % interval over seeds; where a cell has one seed, what the table tolerates stands in for it.
        measured: Whether every cell has several seeds.
    """

    half: float
    measured: bool

    @classmethod
    def of_sum(cls, pairs: Sequence[Pair]) -> "Noise":
        """Of independent differences, added or subtracted."""
        intervals = [difference_interval((a.spread, a.seeds), (b.spread, b.seeds)) for a, b in pairs]
        halves = [
            max(a.tolerance, b.tolerance) if half is None else half
            for half, (a, b) in zip(intervals, pairs, strict=True)
        ]
        return cls(half=hypot(*halves), measured=None not in intervals)

    @classmethod
    def of_mean(cls, pairs: Sequence[Pair]) -> "Noise":
        """Of the mean of independent differences."""
        noise = cls.of_sum(pairs)
        return cls(half=noise.half / len(pairs), measured=noise.measured)

    def about(self, gain: float) -> str:
        """In words, beside the gain."""
        if self.measured:
            return f"{gain:+.2g} ± {self.half:.2g}"
        return f"one seed, tolerance {self.half:.2g}" if self.half else "one seed"
