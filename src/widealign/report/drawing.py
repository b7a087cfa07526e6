"""Figure 2, drawn: what backprop, Align-ada and Align-zero read when they change the weights of one layer."""

from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes as Plot
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from widealign.report.palette import ink
from widealign.report.printed import settled, style

_GREY = "#b4b6ba"
_INK = "#33363b"
_X = (0.6, 2.5, 4.4, 6.3)
_LIVE, _INITIAL = 2.6, 0.9


@dataclass(frozen=True, kw_only=True)
class _Update:
    title: str
    rule: str
    activity: float
    feedback: float
    formula: str


_UPDATES = (
    _Update(
        title="Backprop",
        rule="normal",
        activity=_LIVE,
        feedback=_LIVE,
        formula=r"$\Delta W_l \propto -\,(J_l^{(t)})^{\!\top} e \;\; \sigma(z_{l-1}^{(t)})^{\!\top}$",
    ),
    _Update(
        title="Align-ada",
        rule="align-ada",
        activity=_LIVE,
        feedback=_INITIAL,
        formula=r"$\Delta W_l \propto -\,(J_l^{(0)})^{\!\top} e \;\; \sigma(z_{l-1}^{(t)})^{\!\top}$",
    ),
    _Update(
        title="Align-zero",
        rule="align-zero",
        activity=_INITIAL,
        feedback=_INITIAL,
        formula=r"$\Delta W_l \propto -\,(J_l^{(0)})^{\!\top} e \;\; \sigma(z_{l-1}^{(0)})^{\!\top}$",
    ),
)


def updates() -> Figure:
    """Three panels: the live network above, the initial one below; what the update reads is coloured."""
    with style():
        figure = Figure(figsize=(10.6, 3.1), layout="constrained")
        for plot, update in zip(figure.subplots(1, 3), _UPDATES, strict=True):
            _panel(plot, update)
        return settled(figure)


def _panel(plot: Plot, update: _Update) -> None:
    colour = ink("rule", update.rule, 0).light
    plot.set_xlim(-0.2, 8.1)
    plot.set_ylim(-0.9, 4.3)
    plot.set_aspect("equal")
    plot.axis("off")
    plot.set_title(update.title, loc="left", fontsize=11, color=colour, fontweight="bold")
    _network(plot, _LIVE, "t", filled=True)
    _network(plot, _INITIAL, "0", filled=False)
    plot.add_patch(Circle((_X[1], update.activity), 0.42, facecolor=colour, edgecolor=colour, zorder=3))
    plot.text(
        _X[1], update.activity, _node(1, update.activity), ha="center", va="center", color="white", fontsize=8, zorder=4
    )
    _feedback(plot, update.feedback, colour)
    plot.text(3.9, -0.6, update.formula, ha="center", va="center", fontsize=11, color=_INK)


def _network(plot: Plot, y: float, time: str, filled: bool) -> None:
    for position, x in enumerate(_X):
        face = "#eeece6" if filled else "white"
        plot.add_patch(Circle((x, y), 0.42, facecolor=face, edgecolor=_GREY, linestyle="-" if filled else (0, (3, 2))))
        plot.text(x, y, _node(position, y), ha="center", va="center", fontsize=8, color=_INK)
    for left, right in pairwise(_X):
        _arrow(plot, (left + 0.42, y), (right - 0.42, y), _GREY)
    plot.text((_X[1] + _X[2]) / 2, y + 0.17, rf"$W_l^{{({time})}}$", ha="center", va="bottom", fontsize=8, color=_INK)


def _node(position: int, y: float) -> str:
    time = "t" if y == _LIVE else "0"
    return ("$x$", r"$\sigma$", "$z_l$", rf"$f^{{({time})}}$")[position]


def _feedback(plot: Plot, y: float, colour: str) -> None:
    """From the live error, back through the live or the initial network, to the layer's output."""
    plot.text(7.6, _LIVE, "$e$", ha="center", va="center", fontsize=12, color=colour)
    _arrow(plot, (_X[3] + 0.42, _LIVE), (7.4, _LIVE), _GREY)
    if y == _LIVE:
        _arrow(plot, (7.5, _LIVE + 0.3), (_X[2] + 0.1, y + 0.45), colour, 0.35, width=1.8)
        return
    _arrow(plot, (7.6, _LIVE - 0.3), (_X[3] + 0.45, y), colour, -0.35, width=1.8)
    _arrow(plot, (_X[3] - 0.3, y - 0.32), (_X[2] + 0.3, y - 0.32), colour, -0.45, width=1.8)
    _arrow(plot, (_X[2], y + 0.42), (_X[2], _LIVE - 0.45), colour, width=1.8)


def _arrow(
    plot: Plot, start: tuple[float, float], end: tuple[float, float], colour: str, bend: float = 0.0, width: float = 1.0
) -> None:
    plot.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=9,
            color=colour,
            linewidth=width,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=0,
            shrinkB=0,
        )
    )
