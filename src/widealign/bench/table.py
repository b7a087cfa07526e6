"""Rows as tables for the terminal."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from widealign.bench.cases import NETWORKS, Name

_HEADS = ("rule", "mode", "ms a step", "", "× backprop", "floor", "× memory")
_WORDS = ("rule", "mode", "")


def tables(rows: Sequence[Mapping[str, Any]]) -> Group:
    """One table a network, a section for each case."""
    return Group(*(_table(name, list(of)) for name, of in groupby(rows, key=lambda row: row["network"])))


def _table(network: Name, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(
        box=None,
        title=f"\n{network}: {NETWORKS[network].title}",
        title_justify="left",
        header_style="dim",
        padding=(0, 2, 0, 0),
    )
    for head in _HEADS:
        table.add_column(head, justify="left" if head in _WORDS else "right", no_wrap=True)
    for (width, batch, examples), case in groupby(rows, key=itemgetter("width", "batch_size", "examples")):
        table.add_section()
        table.add_row(Text(f"width {width}", style="bold"), f"batch {batch}, of {examples}")
        for row in case:
            table.add_row(*_cells(row))
    return table


def _cells(row: Mapping[str, Any]) -> list[str | Text]:
    return [
        row["rule"],
        row["mode"],
        f"{row['median_ms']:.2f}",
        f"± {row['spread_ms']:.2f}",
        Text(f"{row['ratio']:.2f}", style="green" if row["ratio"] < 1 else ""),
        f"{row['floor']:.2f}",
        f"{row['peak_ratio']:.2f}",
    ]
