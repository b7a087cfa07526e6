"""What a table or a figure is, as data: what is varied, what is held, how a cell follows from its runs. No torch."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from widealign.config import RunConfig
from widealign.experiments.claims import Claim
from widealign.experiments.measures import ACCURACY, Measure
from widealign.experiments.study import Study

Scale = Literal["smoke", "desk", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Job = RunConfig | Study


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row or one column of a grid: its label, and the coordinates that it sets."""

    label: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""

    @property
    def key(self) -> str:
        """Group and label: how the paper's CSV files name the line."""
        return f"{self.group} | {self.label}" if self.group else self.label


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one scale spends on a grid.

    Attributes:
        caps: Largest value of a setting, such as `{"epochs": 10, "data_limit": 2000}`; smaller ones stay.
        keeps: Values of a coordinate that stay, such as `{"width": (8, 32)}`; the others are left out.
        lrs: Learning rates tried for each cell; None means the grid's own.
        seeds: Seeds of each cell.
    """

    caps: Mapping[str, int] = field(default_factory=dict)
    keeps: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    lrs: tuple[float, ...] | None = None
    seeds: tuple[int, ...] = (99,)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Rows by columns of cells. Each cell is a measure of runs: best learning rate, mean and spread over seeds.

    Attributes:
        name: Unique among all grids.
        holds: Settings that all cells share.
        measure: The number shown.
        choose: The number by which the learning rate is chosen; None means the number shown.
        paper: Name of the packaged CSV with the printed numbers.
        tolerance: What counts as agreement with the paper while the spread over seeds is unknown.
        alone: True for runs that measure time and so must not share the machine.
    """

    name: str
    title: str
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    budgets: Mapping[Scale, Budget]
    axis: str = "width"
    holds: Mapping[str, Any] = field(default_factory=dict)
    lrs: tuple[float, ...] = (1.0, 2.0, 5.0)
    measure: Measure = ACCURACY
    choose: Measure | None = None
    paper: str = ""
    tolerance: Callable[[Mapping[str, Any]], float] = lambda at: 2.0
    note: str = ""
    alone: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes of a figure: curves through the cells of a grid, or through the lines of each cell's run.

    Attributes:
        x: Coordinate along the horizontal axis.
        by: Coordinates that tell the curves apart: the first by colour, the second by dash.
        keeps: Values of a coordinate that are drawn.
        trace: Gives the points of a whole curve from one run; `x` then only names the axis.
        against: Label of a row: the others are drawn as multiples of it.
        paper: Name of the packaged CSV with the multiples that they are compared with.
    """

    grid: Grid
    title: str
    x: str = "width"
    by: tuple[str, ...] = ("rule",)
    keeps: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    trace: Callable[[Any, Mapping[str, Any]], list[tuple[float, float]]] | None = None
    log_x: bool = True
    log_y: bool = False
    against: str = ""
    paper: str = ""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """One set of axes over width of a theory study: the names of its series, by what the legend calls them.

    Attributes:
        limit: Name of the study's limit that is drawn as a dashed line, on a linear axis; otherwise the axes are
            log-log, with each series' fitted power law.
        y_title: Of the vertical axis; the study's quantity by default.
    """

    title: str
    series: Mapping[str, str]
    limit: str = ""
    y_title: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure: its grids shown as tables, drawn as panels, or both, and the claims to check.

    Attributes:
        about: What is varied and what is held, in a sentence or two.
        studies: Measurements that are not training runs, by scale (the theory's rates, timings).
        rates: Axes on which a study's series are drawn.
        drawing: True for the drawing of the update rules, which needs no run.
        in_all: Whether `all` means this one too, at its three scales; False for a demonstration.
    """

    id: str
    title: str
    about: str
    tables: tuple[Grid, ...] = ()
    panels: tuple[Panel, ...] = ()
    studies: Mapping[Scale, tuple[Study, ...]] = field(default_factory=dict)
    rates: tuple[Rates, ...] = ()
    claims: tuple[Claim, ...] = ()
    drawing: bool = False
    in_all: bool = True

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Every grid, shown or drawn, once."""
        return tuple({grid.name: grid for grid in (*self.tables, *(panel.grid for panel in self.panels))}.values())


def across(outer: Iterable[Line], inner: Iterable[Line]) -> tuple[Line, ...]:
    """Rows in groups: each outer line becomes the group of all the inner ones."""
    inner = tuple(inner)
    return tuple(Line(label=i.label, group=o.label, sets={**o.sets, **i.sets}) for o in outer for i in inner)
