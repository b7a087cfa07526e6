"""One experiment at one scale, ready for the template: tables, panels, and the files written beside the page."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from widealign.experiments import Claim, Scale, Verdict, jobs
from widealign.report import curves, drawing, interactive, printed, speed, tables
from widealign.report.curves import Axes
from widealign.report.filled import Block
from widealign.report.spent import spent


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A plotly figure as JSON, and what a screen reader says of it."""

    title: str
    data: str
    dashes: tuple[tuple[str, str], ...]
    rings: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the template sees of a block.

    Attributes:
        spent: Epochs, images, widths, learning rates and seeds of this scale.
        notes: What is to be known of the panels: the notes of their grids, seeds and spread.
        picture: The figure as SVG, base64, for print and for pages without scripts; empty if there is no figure.
        files: Label and path, relative to the page, of each file beside it.
    """

    scale: Scale
    finished: int
    planned: int
    tables: tuple[tables.Table, ...]
    speed: tuple[speed.SpeedTable, ...]
    panels: tuple[Panel, ...]
    picture: str
    files: tuple[tuple[str, str], ...]
    verdicts: tuple[tuple[Claim, Verdict], ...]
    spent: str
    notes: tuple[str, ...]


def shown(block: Block, beside: Path) -> Shown:
    """Write the block's files into the folder `beside`, and hand on what the page needs."""
    stem = beside / f"{block.experiment.id}-{block.scale}"
    grids = [block.grids[grid.name] for grid in block.experiment.tables]
    grids = [filled for filled in grids if filled.finished]
    files = [_write(stem, f"-{filled.grid.name}.csv", tables.as_csv(filled), filled.grid.title) for filled in grids]
    panels = _panels(block)
    figure = _figure(block, panels)
    if figure is not None:
        printed.save(figure, stem)
        files += [("PNG", f"{stem.name}.png"), ("PDF", f"{stem.name}.pdf")]
    if panels:
        files.append(_write(stem, "-curves.csv", curves.as_csv(panels), "curves"))
    rows = _speed_rows(block)
    if rows:
        files.append(_write(stem, ".csv", speed.as_csv(rows), "timings"))
    return Shown(
        scale=block.scale,
        finished=len(block.finished),
        planned=block.planned,
        tables=tuple(tables.table(filled) for filled in grids),
        speed=speed.speed_tables(rows),
        panels=tuple(_panel(panel) for panel in panels),
        picture=base64.b64encode(printed.svg(figure)).decode() if figure is not None else "",
        files=tuple((label, f"{beside.name}/{name}") for label, name in files),
        verdicts=block.verdicts,
        spent=spent(jobs(block.experiment, block.scale)),
        notes=_notes(block) if panels else (),
    )


def _notes(block: Block) -> tuple[str, ...]:
    """Of grids that are only drawn; those of tables stand below the table."""
    tabled = {grid.name for grid in block.experiment.tables}
    drawn = [filled for name, filled in block.grids.items() if name not in tabled and filled.finished]
    about = {filled.grid.title: tables.about_spread(filled) for filled in drawn}
    spreads = [f"{title}: {text}" for title, text in about.items()] if len(set(about.values())) > 1 else about.values()
    return tuple(dict.fromkeys(text for text in (*(filled.grid.note for filled in drawn), *spreads) if text))


def _write(stem: Path, ending: str, text: str, label: str) -> tuple[str, str]:
    path = stem.with_name(stem.name + ending)
    path.write_text(text, encoding="utf-8")
    return f"CSV, {label}", path.name


def _panels(block: Block) -> tuple[Axes, ...]:
    studies = [record.result["study"] for record in block.studies]
    theory = [study for study in studies if "series" in study]
    drawn = (axes for study in theory for axes in curves.study_axes(study, block.experiment.rates))
    return (*curves.axes(block), *drawn)


def _figure(block: Block, panels: Sequence[Axes]) -> Figure | None:
    if block.experiment.drawing:
        return drawing.updates()
    return printed.draw(panels) if panels else None


def _speed_rows(block: Block) -> list[dict[str, object]]:
    return [row for record in block.studies for row in record.result["study"].get("rows", ())]


def _panel(panel: Axes) -> Panel:
    rings = panel.rings if panel.has_rings else ""
    return Panel(title=panel.title, data=_json(panel), dashes=panel.dashes, rings=rings)


def _json(panel: Axes) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(interactive.figure(panel), separators=(",", ":")).replace("</", "<\\/")
