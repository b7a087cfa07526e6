"""Accuracy against width: tables 6 and 7, and figure 4, which draws them."""

from widealign.experiments.catalog.shared import (
    CIFAR,
    DESK_CIFAR,
    DESK_KMNIST,
    FASHION,
    FASHION_NOTE,
    KMNIST,
    SMOKE,
)
from widealign.experiments.claims import Claim, agrees, gap_narrows, leads
from widealign.experiments.rows import rules, widths
from widealign.experiments.spec import Budget, Experiment, Grid, Panel

RULES = rules("align-ada", "align-zero", "dfa", "fa", "last-layer", "normal")

CIFAR_WIDTHS = Grid(
    name="table-6",
    title="CIFAR-10",
    rows=RULES,
    columns=widths(),
    holds=CIFAR,
    paper="table_6_width_cifar10",
    budgets={"smoke": SMOKE, "desk": DESK_CIFAR, "paper": Budget()},
)
KMNIST_WIDTHS = Grid(
    name="table-7",
    title="KMNIST",
    rows=RULES,
    columns=widths(),
    holds=KMNIST,
    paper="table_7_width_kmnist",
    budgets={"smoke": SMOKE, "desk": DESK_KMNIST, "paper": Budget()},
)
FASHION_WIDTHS = Grid(
    name="table-7-fashion",
    title="Fashion-MNIST",
    rows=RULES,
    columns=widths(),
    holds=FASHION,
    note=FASHION_NOTE,
    budgets={"smoke": SMOKE, "desk": DESK_KMNIST, "paper": Budget()},
)


def _claims(grid: str) -> tuple[Claim, ...]:
    return (
        Claim(
            says="At the widest network Align-ada is at least as good as every other rule without backprop.",
            check=leads("Align-ada", "Align-zero", "DFA", "FA", "Last layer"),
            grid=grid,
        ),
        Claim(
            says="The gap from Align-ada to backprop closes with width.",
            check=gap_narrows("Align-ada", to="Normal"),
            grid=grid,
        ),
        Claim(
            says="The gap from Align-zero to backprop closes with width.",
            check=gap_narrows("Align-zero", to="Normal"),
            grid=grid,
        ),
    )


TABLE_6 = Experiment(
    id="table-6",
    title="Accuracy against width, CIFAR-10",
    about="Six rules over widths 8 to 512; 8-layer ReLU network, SGD, best learning rate of {1, 2, 5}, 150 epochs.",
    tables=(CIFAR_WIDTHS,),
    claims=(
        *_claims("table-6"),
        Claim(says="At least 80 % of the cells agree with the printed ones.", check=agrees(0.8)),
    ),
)
TABLE_7 = Experiment(
    id="table-7",
    title="Accuracy against width, KMNIST",
    about="Six rules over widths 8 to 512; 4-layer ReLU network, SGD, best learning rate of {1, 2, 5}, 100 epochs.",
    tables=(KMNIST_WIDTHS, FASHION_WIDTHS),
    claims=(*_claims("table-7"), *_claims("table-7-fashion")),
)
FIGURE_4 = Experiment(
    id="figure-4",
    title="Accuracy against width",
    about="Tables 6 and 7 as curves.",
    panels=tuple(Panel(grid=grid, title=grid.title) for grid in (CIFAR_WIDTHS, KMNIST_WIDTHS, FASHION_WIDTHS)),
)
