"""Timings of the benchmark as a table."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_COLUMNS = (
    "width", "rule", "mode", "batch_size", "examples", "median_ms", "spread_ms", "ratio", "floor", "peak_mb",
    "peak_ratio",
)  # fmt: skip
_HEADS = (
    "width", "rule", "mode", "batch", "examples", "ms a step", "± ms", "× backprop", "floor", "peak MB", "× memory"
)  # fmt: skip
_IN_FULL = ("network", *_COLUMNS, "counted", "to_fastest", "turns", "prepare_s")


@dataclass(frozen=True, kw_only=True)
class SpeedTable:
    """Rows by network, as texts."""

    heads: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]


def speed_table(rows: Sequence[Mapping[str, Any]]) -> SpeedTable:
    """Every row of the benchmark, grouped by network."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        groups.setdefault(str(row["network"]), []).append(tuple(_text(name, row.get(name)) for name in _COLUMNS))
    return SpeedTable(heads=_HEADS, groups=tuple((name, tuple(lines)) for name, lines in groups.items()))


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}" if name != "peak_mb" else f"{value:.0f}"
    return str(value)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The benchmark's rows in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_IN_FULL)
    writer.writerows([[row.get(name, "") for name in _IN_FULL] for row in rows])
    return out.getvalue()
