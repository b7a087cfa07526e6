"""Figure 3: accuracy against the learning rate, at a narrow and a wide network."""

from typing import Any

from widealign.experiments.catalog.shared import CIFAR, FASHION, FASHION_NOTE, KMNIST
from widealign.experiments.claims import Claim, best_rises
from widealign.experiments.rows import rules
from widealign.experiments.spec import Budget, Experiment, Grid, Line, Panel, across

RATES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
WIDTHS = tuple(Line(label=f"width {width}", sets={"width": width}) for width in (8, 16, 32, 256))


def _grid(name: str, title: str, holds: dict[str, Any], note: str = "") -> Grid:
    return Grid(
        name=name,
        title=title,
        rows=across(WIDTHS, rules("align-ada", "align-zero", "dfa", "fa", "last-layer", "normal")),
        columns=tuple(Line(label=f"{rate:g}", sets={"lr": rate}) for rate in RATES),
        axis="learning rate",
        holds=holds,
        note=note,
        budgets={
            "smoke": Budget(caps={"epochs": 1, "data_limit": 150}, keeps={"width": (8, 16), "lr": (0.5, 2.0)}),
            "desk": Budget(caps={"epochs": 10, "data_limit": 450}, keeps={"width": (8, 32), "lr": RATES[::2]}),
            "paper": Budget(keeps={"width": (8, 256)}),
        },
    )


GRIDS = (
    _grid("figure-3-cifar10", "CIFAR-10", CIFAR),
    _grid("figure-3-kmnist", "KMNIST", KMNIST),
    _grid("figure-3-fashion", "Fashion-MNIST", FASHION, FASHION_NOTE),
)
FIGURE_3 = Experiment(
    id="figure-3",
    title="Accuracy against the learning rate",
    about="Six rules at widths 8 (dashed) and 256 (solid), learning rates 0.05 to 20; the rest as in tables 6 and 7.",
    panels=tuple(Panel(grid=grid, title=grid.title, x="lr", by=("rule", "width")) for grid in GRIDS),
    claims=tuple(
        Claim(
            says="At its best learning rate Align-ada is better in the wide network than in the narrow one.",
            check=best_rises("Align-ada"),
            grid=grid.name,
        )
        for grid in GRIDS
    ),
)
