"""Axes drawn by matplotlib: PNG and PDF beside the page, SVG inside it for print. Equal results give equal bytes."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes as Plot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widealign.report.curves import Axes, Curve

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8d93",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#e6e4de",
    "grid.linewidth": 0.7,
    "xtick.color": "#55585e",
    "ytick.color": "#55585e",
    "axes.labelcolor": "#33363b",
    "text.color": "#22252b",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "widealign",
}
_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 2.5)), "dot": (0, (1, 1.8)), "dashdot": (0, (5, 2, 1, 2))}
_KEEP_OUT: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def style() -> Iterator[None]:
    """The look that all drawings share."""
    with mpl.rc_context(_STYLE):
        yield


def draw(panels: Sequence[Axes]) -> Figure:
    """All panels of a figure side by side, one legend below."""
    with style():
        figure = Figure(figsize=(min(3.9 * len(panels) + 0.6, 12.4), 3.9), layout="constrained")
        plots = figure.subplots(1, len(panels), squeeze=False)[0]
        for plot, panel in zip(plots, panels, strict=True):
            _panel(plot, panel)
        for plot, panel in list(zip(plots, panels, strict=True))[1:]:
            plot.set_ylabel("" if panel.y_title == panels[0].y_title else panel.y_title)
        _legends(figure, plots, panels)
        return settled(figure)


def _legends(figure: Figure, plots: Sequence[Plot], panels: Sequence[Axes]) -> None:
    """One for all panels, or one each where they show different things; below them what dashes and rings mean."""
    own = [_handles(plot) for plot in plots]
    together = {text: handle for handles in own for text, handle in handles.items()}
    width = figure.get_figwidth()
    if max(map(len, own)) == len(together):
        _legend(figure, together | _key(panels), width, loc="outside lower center")
        return
    for plot, handles in zip(plots, own, strict=True):
        _legend(plot, handles, width / len(plots) - 0.8, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    _legend(figure, _key(panels), width, loc="outside lower center")


def _handles(plot: Plot) -> dict[str, Artist]:
    handles, texts = plot.get_legend_handles_labels()
    return dict(zip(texts, handles, strict=True))


def _legend(where: Figure | Plot, handles: Mapping[str, Artist], inches: float, **place: Any) -> None:
    """As many columns as fit: at 8 points a letter takes about 0.065 inches, the sample before the text 0.55."""
    if handles:
        columns = max(1, int(inches / (0.55 + 0.065 * max(map(len, handles)))))
        where.legend(list(handles.values()), list(handles), ncols=min(columns, len(handles)), fontsize=8, **place)


def _key(panels: Sequence[Axes]) -> dict[str, Line2D]:
    """What dashes and open circles mean."""
    grey = "#77797f"
    key = {text: Line2D([], [], color=grey, linestyle=_DASHES[dash]) for panel in panels for text, dash in panel.dashes}
    ring = Line2D([], [], color=grey, linestyle="none", marker="o", fillstyle="none")
    return key | {panel.rings: ring for panel in panels if panel.has_rings}


def settled(figure: Figure) -> Figure:
    """The figure with its layout computed once, for all the formats it is saved in."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _panel(plot: Plot, panel: Axes) -> None:
    for curve in panel.curves:
        _curve(plot, curve)
    plot.set_title(panel.title, fontsize=10, loc="left")
    plot.set_xlabel(panel.x_title)
    plot.set_ylabel(panel.y_title)
    if panel.log_y:
        plot.set_yscale("log")
        plot.set_yticks(panel.y_ticks or (), [f"{tick:g}" for tick in panel.y_ticks or ()])
    if panel.log_x:
        plot.set_xscale("log", base=2 if panel.x_title == "width" else 10)
        ticks = [float(tick) for tick in panel.ticks or ()]
        if ticks:
            plot.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    plot.minorticks_off()


def _curve(plot: Plot, curve: Curve) -> None:
    x, y = [point.x for point in curve.points], [point.y for point in curve.points]
    spreads = [point.spread or 0 for point in curve.points]
    marker = "o" if len(x) <= 30 else ""
    plot.errorbar(
        x,
        y,
        yerr=spreads if any(spreads) else None,
        color=curve.ink.light,
        linestyle=_DASHES[curve.dash],
        marker=marker,
        markersize=3.5,
        linewidth=1.5,
        elinewidth=0.8,
        capsize=2,
        label=curve.group if curve.leads else "_",
    )
    if curve.paper:
        xs, ys = [point.x for point in curve.paper], [point.y for point in curve.paper]
        plot.plot(xs, ys, linestyle="none", marker="o", markersize=6.5, fillstyle="none", color=curve.ink.light)


def save(figure: Figure, stem: Path) -> None:
    """PNG and PDF, named by the stem."""
    for kind in ("png", "pdf"):
        with style():
            figure.savefig(stem.with_suffix(f".{kind}"), dpi=200, metadata=_KEEP_OUT[kind])


def svg(figure: Figure) -> bytes:
    """The drawing as SVG."""
    return _rendered(lambda out: figure.savefig(out, format="svg", transparent=True, metadata=_KEEP_OUT["svg"]))


def _rendered(write: Callable[[io.BytesIO], None]) -> bytes:
    out = io.BytesIO()
    with style():
        write(out)
    return out.getvalue()
