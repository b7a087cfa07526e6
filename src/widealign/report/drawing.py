"""Figure 2, drawn: what backprop, Align-ada and Align-zero read when they change the weights of one layer."""

from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes as Plot
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from widealign.report.palette import ink
from widealign.report.printed import settled, style

_GREY = "#b4b6ba"
_SOFT = "#77797f"
_INK = "#33363b"
_LIVE, _INITIAL = 2.75, 0.75
_X = (0.0, 2.0, 4.2, 6.2)  # input, presynaptic activity, output of layer l, output of the network
_ERROR = 7.75
_RADIUS = 0.5
_TIMES = {_LIVE: "t", _INITIAL: "0"}


@dataclass(frozen=True, kw_only=True)
class _Update:
    """Which row the update reads its activity from, and through which row its error comes back."""

    title: str
    rule: str
    activity: float
    feedback: float

    @property
    def formula(self) -> str:
        """The update, with the times that it reads."""
        back, forth = _TIMES[self.feedback], _TIMES[self.activity]
        signal = rf"(J_l^{{({back})}})^{{\!\top}} e"
        return rf"$\Delta W_l \;\propto\; -\,{signal} \;\; \sigma(z_{{l-1}}^{{({forth})}})^{{\!\top}}$"


_UPDATES = (
    _Update(title="Backprop", rule="normal", activity=_LIVE, feedback=_LIVE),
    _Update(title="Align-ada", rule="align-ada", activity=_LIVE, feedback=_INITIAL),
    _Update(title="Align-zero", rule="align-zero", activity=_INITIAL, feedback=_INITIAL),
)


def updates() -> Figure:
    """Three panels: the live network above, the initial one below; what the update reads is coloured."""
    with style():
        figure = Figure(figsize=(11.4, 3.05), layout="constrained")
        for plot, update in zip(figure.subplots(1, 3), _UPDATES, strict=True):
            _panel(plot, update)
        return settled(figure)


def _panel(plot: Plot, update: _Update) -> None:
    colour = ink("rule", update.rule, 0).light
    plot.set_xlim(-0.75, 8.2)
    plot.set_ylim(-1.6, 4.75)
    plot.set_aspect("equal")
    plot.axis("off")
    plot.text(-0.6, 4.75, update.title, ha="left", va="top", fontsize=12, color=colour, fontweight="bold")
    for y in (_LIVE, _INITIAL):
        _network(plot, y, reads_activity=y == update.activity, colour=colour)
    _changed_weight(plot, update.activity, colour)
    _feedback(plot, update.feedback, colour)
    plot.text(3.6, -1.35, update.formula, ha="center", va="center", fontsize=12, color=_INK)


def _network(plot: Plot, y: float, reads_activity: bool, colour: str) -> None:
    live = y == _LIVE
    plot.text(-0.6, y + 0.82, "now" if live else "at the start", ha="left", va="center", fontsize=7.5, color=_SOFT)
    for left, right in pairwise(_X):
        _arrow(plot, (left + _RADIUS, y), (right - _RADIUS, y), _GREY)
    for position, x in enumerate(_X):
        read = reads_activity and position == 1
        face = colour if read else "#eeece6" if live else "white"
        edge = {"edgecolor": colour if read else _GREY, "linestyle": "-" if live or read else (0, (3, 2))}
        plot.add_patch(Circle((x, y), _RADIUS, facecolor=face, zorder=3, **edge))
        words = {"ha": "center", "va": "center", "fontsize": 8.5, "zorder": 4}
        plot.text(x, y, _node(position, y), color="white" if read else _INK, **words)
    middle, up = (_X[1] + _X[2]) / 2, 1 if live else -1
    weight = rf"$W_l^{{({_TIMES[y]})}}$"
    plot.text(middle, y + 0.2 * up, weight, ha="center", va="bottom" if live else "top", fontsize=9, color=_INK)


def _node(position: int, y: float) -> str:
    time = f"({_TIMES[y]})"
    return ("$x$", rf"$\sigma_{{l-1}}^{{{time}}}$", rf"$z_l^{{{time}}}$", rf"$f^{{{time}}}$")[position]


def _changed_weight(plot: Plot, activity: float, colour: str) -> None:
    """Every rule changes the live weight, but not all by its own activity."""
    _arrow(plot, (_X[1] + _RADIUS, _LIVE), (_X[2] - _RADIUS, _LIVE), colour, width=2.6)
    if activity == _INITIAL:
        _arrow(plot, (_X[1], _INITIAL + _RADIUS + 0.06), (_X[1], _LIVE - _RADIUS - 0.06), colour, width=1.9)


def _feedback(plot: Plot, y: float, colour: str) -> None:
    """The error is the live network's; it walks back through the live or the initial one, to the layer's output."""
    plot.add_patch(Circle((_ERROR, _LIVE), 0.32, facecolor="white", edgecolor=colour, linewidth=1.6, zorder=3))
    plot.text(_ERROR, _LIVE, "$e$", ha="center", va="center", fontsize=10, color=colour, zorder=4)
    _arrow(plot, (_X[3] + _RADIUS, _LIVE), (_ERROR - 0.32, _LIVE), _GREY)
    if y == _LIVE:
        _arrow(plot, (_ERROR - 0.12, _LIVE + 0.36), (_X[3] + 0.32, y + 0.47), colour, 0.42, width=1.9)
        _arrow(plot, (_X[3] - 0.32, y + 0.47), (_X[2] + 0.32, y + 0.47), colour, 0.42, width=1.9)
        return
    _arrow(plot, (_ERROR, _LIVE - 0.4), (_X[3] + _RADIUS + 0.06, y), colour, -0.38, width=1.9)
    _arrow(plot, (_X[3] - 0.32, y - 0.47), (_X[2] + 0.32, y - 0.47), colour, -0.42, width=1.9)
    _arrow(plot, (_X[2], y + _RADIUS + 0.06), (_X[2], _LIVE - _RADIUS - 0.06), colour, width=1.9)


def _arrow(
    plot: Plot, start: tuple[float, float], end: tuple[float, float], colour: str, bend: float = 0.0, width: float = 1.0
) -> None:
    plot.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=10,
            color=colour,
            linewidth=width,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )
