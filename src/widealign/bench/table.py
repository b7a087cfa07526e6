"""Rows as tables for the terminal."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from widealign.bench.cases import NETWORKS

_HEADS = ("width", "batch", "examples", "rule", "mode", "ms a step", "", "× backprop", "floor", "× memory")


def tables(rows: Sequence[Mapping[str, Any]]) -> Group:
    """One table a network, a section for each case."""
    return Group(*(_table(name, list(of)) for name, of in groupby(rows, key=lambda row: row["network"])))


def _table(network: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    title = f"\n{network}: {NETWORKS[network].title}"  # type: ignore[index]
    table = Table(box=None, title=title, title_justify="left", header_style="dim", padding=(0, 2, 0, 0))
    for head in _HEADS:
        table.add_column(head, justify="left" if head in ("rule", "mode", "") else "right", no_wrap=True)
    for _, case in groupby(rows, key=lambda row: (row["width"], row["batch_size"], row["examples"])):
        for row in case:
            table.add_row(*_cells(row))
        table.add_section()
    return table


def _cells(row: Mapping[str, Any]) -> list[str | Text]:
    colour = "green" if row["ratio"] < 1 else ""
    return [
        str(row["width"]),
        str(row["batch_size"]),
        str(row["examples"]),
        row["rule"],
        row["mode"],
        f"{row['median_ms']:.2f}",
        f"± {row['spread_ms']:.2f}",
        Text(f"{row['ratio']:.2f}", style=colour),
        f"{row['floor']:.2f}",
        f"{row['peak_ratio']:.2f}",
    ]
