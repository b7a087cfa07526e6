"""Cells as multiples of one row: how many times as long a rule takes as backprop."""

from collections.abc import Sequence
from dataclasses import replace
from math import hypot

from widealign.experiments import Panel, Value, lookup
from widealign.report.filled import FilledCell


def relative(panel: Panel, cells: Sequence[FilledCell]) -> list[FilledCell]:
    """The cells over those of the row `panel.against` in the same column; that row itself is left out."""
    units = {f.cell.column.label: f.value for f in cells if f.cell.row.label == panel.against}
    return [_over(panel, f, units[f.cell.column.label]) for f in cells if f.cell.row.label != panel.against]


def _over(panel: Panel, filled: FilledCell, unit: Value) -> FilledCell:
    cell = filled.cell
    printed = replace(cell, paper=lookup(panel.paper, cell.row, cell.column), comparable=True)
    return FilledCell(cell=printed, value=_quotient(filled.value, unit))


def _quotient(value: Value, unit: Value) -> Value:
    """The means' quotient; its spread as that of independent runs."""
    if not value.mean or not unit.mean:
        return replace(value, mean=None, spread=None)
    mean, spread = value.mean / unit.mean, None
    if value.spread is not None and unit.spread is not None:
        spread = mean * hypot(value.spread / value.mean, unit.spread / unit.mean)
    return replace(value, mean=mean, spread=spread)
