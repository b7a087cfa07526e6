"""Axes as plotly's own JSON, written directly: the page needs the plotly script, and making it needs no plotly."""

from collections.abc import Sequence
from typing import Any

from widealign.report.curves import Axes, Curve, Point


def figure(axes: Axes) -> dict[str, Any]:
    """Traces and layout of one panel. Colours come in pairs in each trace's `meta`; the page picks by its own."""
    traces = [trace for curve in axes.curves for trace in _traces(curve, axes.rings)]
    layout = {
        "xaxis": _axis(axes.x_title, axes.log_x, axes.ticks),
        "yaxis": _axis(axes.y_title, axes.log_y, axes.y_ticks),
        "margin": {"l": 56, "r": 12, "t": 8, "b": 48},
        "height": 380,
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "font": {"size": 12}},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    return {"data": traces, "layout": layout}


def _axis(title: str, logarithmic: bool, ticks: Sequence[float | str] | None) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "title": {"text": title, "standoff": 8},
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
    }
    if logarithmic:
        axis |= {"type": "log", "dtick": "D2"}
    if ticks and all(isinstance(tick, str) for tick in ticks):
        axis |= {"type": "category", "categoryorder": "array", "categoryarray": list(ticks)}
    elif ticks and logarithmic:
        axis |= {"tickmode": "array", "tickvals": list(ticks), "ticktext": [f"{tick:g}" for tick in _numbers(ticks)]}
    return axis


def _numbers(ticks: Sequence[float | str]) -> list[float]:
    return [float(tick) for tick in ticks]


def _traces(curve: Curve, rings: str) -> list[dict[str, Any]]:
    few = len(curve.points) <= 30
    ours = {
        **_common(curve, curve.points),
        "showlegend": curve.leads,
        "mode": "lines+markers" if few else "lines",
        "line": {"dash": curve.dash, "width": 2},
        "marker": {"size": 6},
        "hovertemplate": f"{curve.name}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    }
    if any(point.spread for point in curve.points):
        spreads = [point.spread or 0 for point in curve.points]
        ours["error_y"] = {"type": "data", "array": spreads, "thickness": 1, "width": 3}
    if not curve.paper:
        return [ours]
    paper = {
        **_common(curve, curve.paper),
        "mode": "markers",
        "showlegend": False,
        "marker": {"size": 9, "symbol": "circle-open", "line": {"width": 1.2}},
        "hovertemplate": f"{curve.name}, {rings}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    }
    return [ours, paper]


def _common(curve: Curve, points: tuple[Point, ...]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": curve.group if curve.leads else curve.name,
        "legendgroup": curve.group,
        "x": [point.x for point in points],
        "y": [float(f"{point.y:.6g}") for point in points],
        "meta": {"light": curve.ink.light, "dark": curve.ink.dark},
    }
