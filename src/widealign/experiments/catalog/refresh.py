"""Our own: what a slow transport of weights buys. The snapshot is taken anew every k steps."""

from widealign.experiments.catalog.shared import CIFAR
from widealign.experiments.claims import Claim, rises
from widealign.experiments.rows import rules
from widealign.experiments.spec import Budget, Experiment, Grid, Line, Panel

INTERVALS = (1000, 300, 100, 30, 10, 3, 1)
NEVER = Line(label="never", sets={"refresh": None})

REFRESH = Grid(
    name="refresh-1",
    title="CIFAR-10",
    rows=rules("align-zero", "align-ada", "align-prop"),
    columns=(
        NEVER,
        *(Line(label=str(k), sets={"refresh": k, "rule_options": {"refresh": k}}) for k in INTERVALS),
    ),
    axis="steps between snapshots",
    holds={**CIFAR, "width": 32, "epochs": 50},
    lrs=(1.0, 2.0),
    budgets={
        "smoke": Budget(caps={"epochs": 1, "data_limit": 150, "width": 8}, keeps={"refresh": (None, 1)}, lrs=(1.0,)),
        "desk": Budget(caps={"epochs": 20, "data_limit": 450}, keeps={"refresh": (None, 100, 30, 10, 1)}, lrs=(1.0,)),
        "paper": Budget(),
    },
)
REFRESH_1 = Experiment(
    id="refresh-1",
    title="Accuracy against the snapshot interval",
    about="Three Align rules at width 32; the snapshot is replaced by the live network every k steps (1 is backprop).",
    tables=(REFRESH,),
    panels=(Panel(grid=REFRESH, title="CIFAR-10", x="refresh"),),
    claims=(
        Claim(says="Fresher snapshots help Align-zero.", check=rises("Align-zero")),
        Claim(says="Fresher snapshots help Align-ada.", check=rises("Align-ada")),
    ),
)
