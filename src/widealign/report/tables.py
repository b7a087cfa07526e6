"""A filled grid as a table to look at: texts, and what each cell's colour says."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from widealign.experiments import Line, Measure, half_interval
from widealign.report.filled import Agreement, FilledCell, FilledGrid

MISSING = "–"
_NUMBERS = ("ours", "spread", "seeds", "lr", "paper", "difference")


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """Texts of one cell: ours with its spread, the paper's, the difference, and how ours was computed."""

    ours: str
    spread: str = ""
    paper: str = ""
    difference: str = ""
    agreement: Agreement = ""
    partial: bool = False
    diverged: bool = False
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A whole table: groups of rows under their heading."""

    title: str
    axis: str
    unit: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[str, tuple[TableCell | None, ...]], ...]], ...]
    notes: tuple[str, ...]
    has_paper: bool


def table(filled: FilledGrid) -> Table:
    """The table of a grid; columns and rows that the scale leaves out are not there."""
    rows = _in_order(filled.grid.rows, [f.cell.row for f in filled.cells])
    columns = _in_order(filled.grid.columns, [f.cell.column for f in filled.cells])
    places = {(f.cell.row.key, f.cell.column.label): f for f in filled.cells}
    groups: dict[str, list[tuple[str, tuple[TableCell | None, ...]]]] = {}
    for row in rows:
        line = [places.get((row.key, column.label)) for column in columns]
        groups.setdefault(row.group, []).append((row.label, tuple(None if f is None else _cell(f) for f in line)))
    return Table(
        title=filled.grid.title,
        axis=filled.grid.axis,
        unit=_unit(filled.grid.measure),
        columns=tuple(column.label for column in columns),
        groups=tuple((name, tuple(lines)) for name, lines in groups.items()),
        notes=tuple(note for note in (filled.grid.note, about_spread(filled)) if note),
        has_paper=any(f.cell.paper for f in filled.cells),
    )


def _in_order(lines: Sequence[Line], present: Sequence[Line]) -> list[Line]:
    keys = {line.key for line in present}
    return [line for line in lines if line.key in keys]


def _unit(measure: Measure) -> str:
    return f"{measure.name}, {measure.unit}" if measure.unit else measure.name


def _cell(filled: FilledCell) -> TableCell:
    measure, value = filled.cell.measure, filled.value
    paper = filled.cell.paper
    return TableCell(
        ours=MISSING if value.mean is None else f"{value.mean:.{measure.decimals}f}",
        spread=_spread(filled),
        paper="" if paper is None else f"{paper[0]:.{measure.decimals}f}",
        difference="" if filled.difference is None else _signed(filled.difference, measure.decimals),
        agreement=filled.agreement,
        partial=value.mean is not None and not value.complete,
        diverged=value.diverged > 0,
        about=_about(filled),
    )


def _spread(filled: FilledCell) -> str:
    """Standard deviation over seeds; under the sound protocol the 95 % interval of the mean."""
    value = filled.value
    shown = half_interval(value.spread, value.seeds) if _sound(filled) else value.spread
    return "" if shown is None else f"±{shown:.{filled.cell.measure.decimals}f}"


def _sound(filled: FilledCell) -> bool:
    return filled.cell.candidates[0].protocol == "sound"


def _signed(number: float, decimals: int) -> str:
    text = f"{number:+.{decimals}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{decimals}f}"


def _about(filled: FilledCell) -> str:
    value = filled.value
    if value.mean is None:
        return f"missing: {value.finished} of {value.planned} runs"
    words = [f"learning rate {value.lr:g}", f"{value.seeds} seed{'s' * (value.seeds != 1)}"]
    interval = half_interval(value.spread, value.seeds)
    words += [f"95 % interval ±{interval:.{filled.cell.measure.decimals}f}"] if interval is not None else []
    words += [f"only {value.finished} of {value.planned} runs"] if not value.complete else []
    words += [f"{value.diverged} diverged after the best epoch"] if value.diverged else []
    return ", ".join(words)


def about_spread(filled: FilledGrid) -> str:
    """How many seeds are behind the numbers of a grid, and how far they lie apart."""
    done = [f for f in filled.cells if f.value.mean is not None]
    spreads = [f.value.spread for f in done if f.value.spread is not None]
    if spreads:
        seeds = {f.value.seeds for f in done}
        count = f"{min(seeds)}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
        what = "95 % interval" if _sound(done[0]) else "standard deviation"
        typical = f"{median(spreads):.{filled.grid.measure.decimals}f}"
        return f"Mean ± {what} over {count} seeds; the median standard deviation is {typical}."
    return "One seed a cell: the spread is not known." if done else ""


def as_csv(filled: FilledGrid) -> str:
    """All cells of a grid, one a line, every number in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            "group",
            "row",
            filled.grid.axis or "column",
            *_NUMBERS,
            "agreement",
            "runs_finished",
            "runs_planned",
            "diverged",
        )
    )
    for f in filled.cells:
        v, paper = f.value, f.cell.paper[0] if f.cell.paper else None
        numbers = [v.mean, v.spread, v.seeds, v.lr, paper, f.difference]
        texts = ["" if n is None else f"{n:.6g}" for n in numbers]
        row = [f.cell.row.group, f.cell.row.label, f.cell.column.label, *texts]
        writer.writerow([*row, f.agreement, v.finished, v.planned, v.diverged])
    return out.getvalue()
