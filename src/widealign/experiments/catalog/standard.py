"""Table 10: standard parameterization with Adam, at three training budgets."""

from widealign.experiments.catalog.shared import CIFAR
from widealign.experiments.claims import Claim, agrees, leads, rises
from widealign.experiments.rows import rules, widths
from widealign.experiments.spec import Budget, Experiment, Grid, Line, across

RATES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
SETTINGS = (
    Line(label="Standard parameterization, 150 epochs", sets={"epochs": 150}),
    Line(label="Standard parameterization, 1 epoch", sets={"epochs": 1}),
    Line(label="Standard parameterization, 1 epoch + small learning rate", sets={"epochs": 1, "lrs": RATES[:1]}),
)
LONG = SETTINGS[0].label

TABLE_10 = Experiment(
    id="table-10",
    title="Standard parameterization with Adam, CIFAR-10",
    about=(
        "Three rules over widths 8 to 512 without the NTK factor; Adam, best learning rate of ten from 0.0005 to 0.5. "
        "Which learning rate the paper calls small it does not say: the smallest of the ten is taken."
    ),
    tables=(
        Grid(
            name="table-10",
            title="CIFAR-10",
            rows=across(SETTINGS, rules("align-ada", "align-zero", "normal")),
            columns=widths(),
            holds={**CIFAR, "parameterization": "standard", "optimizer": "adam"},
            lrs=RATES,
            paper="table_10_standard_param_cifar10",
            budgets={
                "smoke": Budget(caps={"epochs": 2, "data_limit": 150}, keeps={"width": (8,)}, lrs=(0.002, 0.01)),
                "desk": Budget(
                    caps={"epochs": 10, "data_limit": 450},
                    keeps={"width": (8, 16, 32)},
                    lrs=(0.0005, 0.002, 0.01, 0.05),
                ),
                "paper": Budget(),
            },
        ),
    ),
    claims=(
        Claim(says="Align-ada gains from width.", check=rises(f"{LONG} | Align-ada")),
        Claim(
            says="Backprop stays ahead of both rules in standard parameterization.",
            check=leads(f"{LONG} | Normal", f"{LONG} | Align-ada", f"{LONG} | Align-zero"),
        ),
        Claim(says="At least 80 % of the cells agree with the printed ones.", check=agrees(0.8)),
    ),
)
