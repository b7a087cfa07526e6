"""CIFAR-10 at large width: Align-prop against the rest (table 1), and the spread over seeds (table 2)."""

from widealign.experiments.catalog.shared import CIFAR, DESK_CIFAR, SMOKE
from widealign.experiments.claims import Claim, agrees, leads
from widealign.experiments.rows import rules, widths
from widealign.experiments.spec import Budget, Experiment, Grid, Line

TABLE_1 = Experiment(
    id="table-1",
    title="Align-prop against the other rules, CIFAR-10",
    about=(
        "Seven rules at widths 128, 256 and 512; 8-layer ReLU network, SGD, best learning rate of {1, 2, 5}, "
        "150 epochs. Smaller scales use narrower networks."
    ),
    tables=(
        Grid(
            name="table-1",
            title="CIFAR-10",
            rows=rules("align-prop", "align-ada", "align-zero", "dfa", "fa", "last-layer", "normal"),
            columns=widths(),
            holds=CIFAR,
            paper="table_1_align_prop_cifar10",
            budgets={
                "smoke": SMOKE,
                "desk": Budget(caps=DESK_CIFAR.caps, keeps={"width": (16, 32)}),
                "paper": Budget(keeps={"width": (128, 256, 512)}),
            },
        ),
    ),
    claims=(
        Claim(
            says="Align-prop is the best of the rules without backprop.",
            check=leads("Align-prop", "Align-ada", "Align-zero", "DFA", "FA", "Last layer"),
        ),
        Claim(says="At least 80 % of the cells agree with the printed ones.", check=agrees(0.8)),
    ),
)

TABLE_2 = Experiment(
    id="table-2",
    title="Mean and spread over seeds, CIFAR-10",
    about="Five rules at width 256, seeds 100 to 104; 8-layer ReLU network, SGD, best learning rate of {1, 2, 5}.",
    tables=(
        Grid(
            name="table-2",
            title="CIFAR-10",
            rows=rules("align-ada", "align-zero", "dfa", "fa", "normal"),
            columns=(
                Line(label="Accuracy", sets={"width": 256}),
                Line(label="width 32", sets={"width": 32}),
                Line(label="width 8", sets={"width": 8}),
            ),
            axis="",
            holds=CIFAR,
            paper="table_2_multiseed_cifar10",
            budgets={
                "smoke": Budget(
                    caps={"epochs": 2, "data_limit": 150}, keeps={"width": (8,)}, lrs=(2.0,), seeds=(100, 101)
                ),
                "desk": Budget(
                    caps={"epochs": 50, "data_limit": 150},
                    keeps={"width": (32,)},
                    lrs=(5.0,),
                    seeds=(100, 101, 102, 103, 104),
                ),
                "paper": Budget(keeps={"width": (256,)}, seeds=(100, 101, 102, 103, 104)),
            },
        ),
    ),
    claims=(
        Claim(
            says="Align-ada is above the other rules without backprop, beyond the spread over seeds.",
            check=leads("Align-ada", "Align-zero", "DFA", "FA"),
        ),
    ),
)
