"""The paper's printed numbers, read from the packaged CSV files."""

import csv
from functools import cache
from importlib.resources import files

from widealign.experiments.spec import Line


@cache
def printed(name: str) -> dict[tuple[str, str], tuple[float, float | None]]:
    """Value and, where printed, spread, by row and column of one table.

    Example:
        >>> printed("table_2_multiseed_cifar10")["Accuracy", "Align-ada"]
        (56.4, 0.4)
    """
    text = (files("widealign.experiments") / "paper" / f"{name}.csv").read_text()
    header, *rows = csv.reader(text.splitlines())
    labels = next((i for i, cell in enumerate(header) if _is_width(cell)), 1)
    columns = [_column(cell) for cell in header[labels:]]
    return {
        (" | ".join(row[:labels]), column): _number(cell)
        for row in rows
        for column, cell in zip(columns, row[labels:], strict=True)
    }


def _is_width(cell: str) -> bool:
    return cell[:1] == "x" and cell[1:].isdigit()


def _column(cell: str) -> str:
    return cell[1:] if _is_width(cell) else cell


def _number(cell: str) -> tuple[float, float | None]:
    value, _, spread = cell.partition(" +- ")
    return float(value), float(spread) if spread else None


def lookup(name: str, row: Line, column: Line) -> tuple[float, float | None] | None:
    """The printed number of one cell, or None where the paper has none."""
    if not name:
        return None
    numbers = printed(name)
    return numbers.get((row.key, column.label)) or numbers.get((column.label, row.key))
