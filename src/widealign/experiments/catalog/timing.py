"""Time: figure 7 (seconds per epoch against width) and speed-1 (every rule against backprop, from the benchmark)."""

from widealign.experiments.catalog.shared import CIFAR
from widealign.experiments.claims import Claim, below
from widealign.experiments.measures import SECONDS
from widealign.experiments.rows import rules, widths
from widealign.experiments.spec import SCALES, Budget, Experiment, Grid, Panel
from widealign.experiments.study import Study

FIFTEEN = tuple(range(99, 114))

EPOCH_TIME = Grid(
    name="figure-7",
    title="CIFAR-10",
    rows=rules("normal", "align-ada", "align-zero"),
    columns=widths(),
    holds={**CIFAR, "epochs": 1},
    lrs=(1.0,),
    measure=SECONDS,
    alone=True,
    note="These runs have the machine to themselves. The paper's figure has no printed numbers.",
    budgets={
        "smoke": Budget(caps={"data_limit": 150}, keeps={"width": (8, 16)}),
        "desk": Budget(caps={"data_limit": 450}, keeps={"width": (8, 16, 32, 64)}, seeds=FIFTEEN[:5]),
        "paper": Budget(seeds=FIFTEEN),
    },
)
FIGURE_7 = Experiment(
    id="figure-7",
    title="Seconds per epoch against width",
    about="Backprop, Align-ada and Align-zero, widths 8 to 512, mean and spread of 15 trials of one epoch; then the "
    "same as multiples of backprop. The paper prints no numbers here: its points on the right are a training step of "
    "its authors' scripts over plain PyTorch's, on the same network and batch, timed on one core. Ours is a whole "
    "epoch, with its evaluation.",
    panels=(
        Panel(grid=EPOCH_TIME, title="CIFAR-10", log_y=True),
        Panel(
            grid=EPOCH_TIME,
            title="CIFAR-10, multiples of backprop",
            against="Normal",
            paper="scripts_step_time_cifar10",
        ),
    ),
    claims=(
        Claim(
            says="An epoch of Align-ada takes at most 1.5 times one of backprop.",
            check=below("Align-ada", "Normal", 1.5),
        ),
    ),
)
SPEED_1 = Experiment(
    id="speed-1",
    title="Time of a step against backprop",
    about=(
        "Every rule on four networks, timed in turn with backprop in one process. The floor is what the passes of a "
        "rule's equation allow. Where two numbers stand, the first is of the narrowest network and the second of the "
        "widest. The CSV has all rows, also those of other batches and numbers of examples."
    ),
    studies={scale: (Study(kind="speed", options={"quick": scale == "smoke"}),) for scale in SCALES},
)
