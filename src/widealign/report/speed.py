"""Timings of the benchmark as tables."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_IN_FULL = (
    "network", "width", "rule", "mode", "batch_size", "examples", "median_ms", "spread_ms", "ratio", "floor", "peak_mb",
    "peak_ratio", "counted", "to_fastest", "turns", "prepare_s",
)  # fmt: skip
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SpeedTable:
    """Multiples of backprop on one network, a row for each form of a rule and a column for each width; as texts."""

    network: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def speed_tables(rows: Sequence[Row]) -> tuple[SpeedTable, ...]:
    """One table a network, at the batch and number of examples that it was timed with most; the CSV has the rest."""
    return tuple(_table(name, [row for row in rows if row["network"] == name]) for name in _distinct(rows, "network"))


def _table(network: str, rows: Sequence[Row]) -> SpeedTable:
    [(usual, _)] = Counter(map(_batch, rows)).most_common(1)
    here = [row for row in rows if _batch(row) == usual]
    rules, widths = _distinct(here, "rule"), _distinct(here, "width")
    forms: dict[tuple[str, str], dict[int, Row]] = {}
    for row in sorted(here, key=lambda row: rules.index(row["rule"])):
        forms.setdefault((row["rule"], row["mode"]), {})[row["width"]] = row
    return SpeedTable(
        network=f"{network}, batches of {usual[0]}, {usual[1]} training examples",
        heads=("rule", "form", *(f"width {width}" for width in widths), "floor", "memory"),
        rows=tuple(_line(rule, mode, of, widths) for (rule, mode), of in forms.items()),
    )


def _line(rule: str, mode: str, of: Mapping[int, Row], widths: Sequence[int]) -> tuple[str, ...]:
    multiples = (_text(of[width]["ratio"]) if width in of else "" for width in widths)
    name = "backprop" if rule == "normal" else rule
    return (name, mode, *multiples, _ends(of.values(), "floor"), _ends(of.values(), "peak_ratio"))


def _batch(row: Row) -> tuple[Any, Any]:
    return row["batch_size"], row["examples"]


def _distinct(rows: Sequence[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


def _ends(rows: Iterable[Row], name: str) -> str:
    """The value at the first width and at the last, where they differ."""
    texts = [_text(row.get(name)) for row in rows]
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The benchmark's rows in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_IN_FULL)
    writer.writerows([[row.get(name, "") for name in _IN_FULL] for row in rows])
    return out.getvalue()
