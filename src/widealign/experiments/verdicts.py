"""What a claim is, what it sees of a grid's results, and what it says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Outcome = Literal["holds", "does not hold", "not enough runs"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a claim holds, and the numbers that say so."""

    outcome: Outcome
    because: str


@dataclass(frozen=True, kw_only=True)
class Number:
    """The value of one complete cell; `tolerance` stands in for the noise while there is a single seed."""

    mean: float
    spread: float | None = None
    seeds: int = 1
    tolerance: float = 0.0

    def times(self, factor: float) -> "Number":
        """The multiple of a number, with its spread and tolerance."""
        spread = None if self.spread is None else factor * self.spread
        return replace(self, mean=factor * self.mean, spread=spread, tolerance=factor * self.tolerance)


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a claim sees of one grid: complete cells only.

    Attributes:
        axis: What the columns are, such as width.
        columns: Labels of the columns that the scale has, from the narrowest to the widest.
        numbers: Complete cells by row key and column label.
        differences: Name, difference from the printed number, and what counts as agreement, of each comparable cell.
        exact: How many of those cells round to the printed number.
        study: Result of the experiment's study, where it has one.
    """

    axis: str = ""
    columns: tuple[str, ...] = ()
    numbers: Mapping[tuple[str, str], Number] = field(default_factory=dict)
    differences: tuple[tuple[str, float, float], ...] = ()
    exact: int = 0
    study: Mapping[str, Any] | None = None

    def shared(self, rows: Sequence[str]) -> list[str]:
        """Columns in which every one of the rows has a number."""
        return [column for column in self.columns if all((row, column) in self.numbers for row in rows)]

    def at(self, column: str) -> str:
        """In words, such as `at width 8`."""
        return f"at {self.axis} {column}" if self.axis else column


Check = Callable[[Results], Verdict]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence, and the function that checks it on the grid of that name (the experiment's first, if empty)."""

    says: str
    check: Check
    grid: str = ""
