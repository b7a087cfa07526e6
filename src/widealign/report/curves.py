"""Panels of filled grids as curves: plain numbers, before any drawing."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Any

from widealign.experiments import Panel, Rates
from widealign.report.filled import Block, FilledCell, FilledGrid
from widealign.report.palette import DASHES, Ink, ink
from widealign.report.relative import relative
from widealign.report.ticks import log_ticks


@dataclass(frozen=True, kw_only=True)
class Point:
    """One place on a curve; `x` is a text on an axis of categories."""

    x: float | str
    y: float
    spread: float | None = None


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A named line with its colour and dash; `paper` holds the printed numbers of the same curve.

    Curves of one `group` share a colour and an entry in the legend, which `leads` puts there.
    """

    name: str
    group: str
    points: tuple[Point, ...]
    paper: tuple[Point, ...] = ()
    ink: Ink
    dash: str = "solid"
    leads: bool = True


@dataclass(frozen=True, kw_only=True)
class Axes:
    """One set of axes with its curves.

    Attributes:
        dashes: What each dash means, if there are several.
        ticks: The places that get a label, or None for the drawer's choice.
        rings: Whose numbers the open circles are.
    """

    title: str
    x_title: str
    y_title: str
    curves: tuple[Curve, ...]
    dashes: tuple[tuple[str, str], ...] = ()
    log_x: bool = False
    log_y: bool = False
    ticks: tuple[float | str, ...] | None = None
    rings: str = "the paper"

    @property
    def has_rings(self) -> bool:
        """Whether any curve has numbers of others beside it."""
        return any(curve.paper for curve in self.curves)

    @property
    def y_ticks(self) -> tuple[float, ...] | None:
        """The places of a logarithmic vertical axis that get a label; None leaves them to the drawer."""
        if not self.log_y:
            return None
        return log_ticks(point.y for curve in self.curves for point in (*curve.points, *curve.paper))


def axes(block: Block) -> tuple[Axes, ...]:
    """Every panel of a block that has a curve."""
    drawn = [_axes(panel, block.grids[panel.grid.name]) for panel in block.experiment.panels]
    return tuple(one for one in drawn if one.curves)


def _axes(panel: Panel, filled: FilledGrid) -> Axes:
    chosen = [f for f in filled.cells if all(f.cell.at[k] in v for k, v in panel.keeps.items() if k in f.cell.at)]
    if "width" in panel.by:
        chosen = _narrowest_and_widest(chosen)
    if panel.against:
        chosen = relative(panel, chosen)
    traced = panel.trace is not None
    words = any(not isinstance(f.cell.at.get(panel.x, 0), int | float) for f in chosen) and not traced
    curves = [_traced(panel, f, chosen) for f in chosen] if traced else _through_cells(panel, chosen, words)
    return Axes(
        title=panel.title,
        x_title=_X_TITLES.get(panel.x, panel.x),
        y_title=_y_title(panel),
        curves=_led([curve for curve in curves if curve.points]),
        dashes=_dashes(panel, chosen),
        log_x=panel.log_x and not words,
        log_y=panel.log_y,
        ticks=None if traced else tuple(dict.fromkeys(_x(panel, f, words) for f in chosen)),
        rings="the authors' scripts" if panel.paper else "the paper",
    )


_X_TITLES = {
    "data_limit": "training images",
    "lr": "learning rate",
    "refresh": "steps between snapshots",
}
_Y_TITLES = {"step": "training loss"}


def _y_title(panel: Panel) -> str:
    measure = panel.grid.measure
    unit = f"× {panel.against}" if panel.against else measure.unit
    return _Y_TITLES.get(panel.x, f"{measure.axis}, {unit}" if unit else measure.axis)


def _narrowest_and_widest(cells: Sequence[FilledCell]) -> list[FilledCell]:
    """Of the widths that have values, the two ends: more would crowd the axes."""
    widths = sorted({f.cell.at["width"] for f in cells if f.value.mean is not None})
    return [f for f in cells if f.cell.at["width"] in (widths[:1] + widths[-1:])]


def _x(panel: Panel, filled: FilledCell, words: bool) -> float | str:
    return filled.cell.column.label if words else filled.cell.at[panel.x]


def _through_cells(panel: Panel, cells: Sequence[FilledCell], words: bool) -> list[Curve]:
    groups: dict[tuple[Any, ...], list[FilledCell]] = {}
    for f in cells:
        groups.setdefault(tuple(f.cell.at.get(key) for key in panel.by), []).append(f)
    return [_curve(panel, key, group, list(groups), words) for key, group in groups.items()]


def _curve(
    panel: Panel, key: tuple[Any, ...], group: Sequence[FilledCell], keys: Sequence[tuple[Any, ...]], words: bool
) -> Curve:
    ours = [
        Point(x=_x(panel, f, words), y=f.value.mean, spread=f.value.spread) for f in group if f.value.mean is not None
    ]
    paper = [Point(x=_x(panel, f, words), y=f.cell.paper[0]) for f in group if f.cell.paper and f.cell.comparable]
    return Curve(
        name=_name(group[0], key, panel),
        group=group[0].cell.row.label.partition(",")[0],
        points=tuple(ours),
        paper=tuple(paper) if ours else (),
        ink=_ink(panel, key, keys),
        dash=_dash(panel, key, keys),
    )


def _traced(panel: Panel, filled: FilledCell, cells: Sequence[FilledCell]) -> Curve:
    key = tuple(filled.cell.at.get(name) for name in panel.by)
    keys = [tuple(f.cell.at.get(name) for name in panel.by) for f in cells]
    points = panel.trace(filled.value.runs[0], filled.cell.at) if panel.trace and filled.value.runs else []
    return Curve(
        name=filled.cell.row.label,
        group=filled.cell.row.label.partition(",")[0],
        points=tuple(Point(x=x, y=y) for x, y in points),
        ink=_ink(panel, key, keys),
        dash=_dash(panel, key, keys),
    )


def _name(filled: FilledCell, key: tuple[Any, ...], panel: Panel) -> str:
    name = filled.cell.row.label.partition(",")[0]
    return f"{name}, width {key[1]}" if panel.by[1:] == ("width",) else name


def _led(curves: list[Curve]) -> tuple[Curve, ...]:
    """One curve of each group stands in the legend: a solid one, if there is one."""
    leaders = {c.group: c.name for c in sorted(curves, key=lambda c: c.dash == "solid")}
    return tuple(replace(curve, leads=curve.name == leaders[curve.group]) for curve in curves)


def _dashes(panel: Panel, cells: Sequence[FilledCell]) -> tuple[tuple[str, str], ...]:
    keys = [tuple(f.cell.at.get(name) for name in panel.by) for f in cells]
    if len({key[1:] for key in keys}) < 2:
        return ()
    words = {"baseline": lambda value: "permuted weights" if value else "trained weights"}
    say = words.get(panel.by[1], lambda value: f"{panel.by[1]} {value}")
    return tuple(
        sorted({(say(key[1]), _dash(panel, key, keys)) for key in keys}, key=lambda pair: DASHES.index(pair[1]))
    )


def _ink(panel: Panel, key: tuple[Any, ...], keys: Sequence[tuple[Any, ...]]) -> Ink:
    first = list(dict.fromkeys(k[0] for k in keys))
    return ink(panel.by[0], key[0], first.index(key[0]))


def _dash(panel: Panel, key: tuple[Any, ...], keys: Sequence[tuple[Any, ...]]) -> str:
    """The last value of the second coordinate is solid: the widest network, as in the paper's figures."""
    if len(panel.by) < 2:
        return "solid"
    if panel.by[1] == "baseline":
        return "dot" if key[1] else "solid"
    second = sorted({k[1] for k in keys}, reverse=True)
    return DASHES[second.index(key[1]) % len(DASHES)]


def as_csv(panels: Sequence[Axes]) -> str:
    """Every point of a figure, ours and the paper's, one a line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["panel", "curve", "source", "x", "y", "spread"])
    for panel in panels:
        for curve in panel.curves:
            for source, points in (("ours", curve.points), ("paper", curve.paper)):
                rows = ([panel.title, curve.name, source, p.x, f"{p.y:.6g}", _text(p.spread)] for p in points)
                writer.writerows(rows)
    return out.getvalue()


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


def study_axes(study: Mapping[str, Any], rates: Sequence[Rates]) -> tuple[Axes, ...]:
    """Curves of a theory study over width: each with its fitted power law, or all with their limit (dashed)."""
    return tuple(_rates(study, panel) for panel in rates)


def _rates(study: Mapping[str, Any], panel: Rates) -> Axes:
    present = {name: key for name, key in panel.series.items() if key in study["series"]}
    curves = [
        curve
        for position, (name, key) in enumerate(present.items())
        for curve in _with_fit(study, name, key, ink("rule", key.split()[0], position), fitted=not panel.limit)
    ]
    if panel.limit:
        curves.append(_limit(study, panel.limit))
    return Axes(
        title=panel.title,
        x_title="width",
        y_title=panel.y_title or study.get("quantity", "difference"),
        curves=tuple(curves),
        dashes=(("measured", "solid"), ("wide limit" if panel.limit else "fitted power law", "dash")),
        log_x=True,
        log_y=not panel.limit,
        ticks=tuple(study["widths"]),
    )


def _limit(study: Mapping[str, Any], name: str) -> Curve:
    limit = study["limits"][name]
    ends = (study["widths"][0], study["widths"][-1])
    points = tuple(Point(x=width, y=limit["mean"], spread=limit["error"]) for width in ends)
    return Curve(
        name="kernel regression",
        group="kernel regression",
        points=points,
        ink=ink("rule", "last-layer", 0),
        dash="dash",
    )


def _with_fit(study: Mapping[str, Any], name: str, key: str, colour: Ink, *, fitted: bool = True) -> Iterator[Curve]:
    widths, series = study["widths"], study["series"][key]
    points = tuple(
        Point(x=width, y=mean, spread=spread)
        for width, mean, spread in zip(widths, series["mean"], series["spread"], strict=True)
    )
    yield Curve(name=name, group=name, points=points, ink=colour)
    if not fitted:
        return
    slope = study["fits"][key]["slope"]
    middle, anchor = geometric_mean(widths), geometric_mean([point.y for point in points])
    line = tuple(Point(x=width, y=anchor * (width / middle) ** slope) for width in widths)
    yield Curve(name=f"{name}, exponent {slope:.2f}", group=name, points=line, ink=colour, dash="dash", leads=False)
