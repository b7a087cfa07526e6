"""Figure 5: training loss on ImageNet."""

from widealign.experiments.claims import Claim, below
from widealign.experiments.measures import LOSS, loss_over_steps
from widealign.experiments.rows import rules
from widealign.experiments.spec import Budget, Experiment, Grid, Line, Panel

CURVES = Grid(
    name="figure-5",
    title="ImageNet",
    rows=rules("align-ada", "align-zero", "dfa", "fa", "last-layer", "normal"),
    columns=(Line(label="best of all epochs", sets={"figure": "train_loss"}),),
    axis="",
    holds={"task": "imagenet", "width": 512, "epochs": 12, "log_steps": True, "threads": 1},
    lrs=(5.0,),
    measure=LOSS,
    tolerance=lambda at: 0.002,
    note=(
        "Twelve passes of 12 811 steps reach the paper's 150 000. Smaller scales take 200 images, at even distances, "
        "of whatever image folder they are given: it shows that everything runs, and says nothing of ImageNet."
    ),
    budgets={
        "smoke": Budget(caps={"epochs": 4, "width": 8, "data_limit": 200}),
        "desk": Budget(caps={"epochs": 50, "width": 32, "data_limit": 200}),
        "paper": Budget(),
    },
)
FIGURE_5 = Experiment(
    id="figure-5",
    title="Training loss on ImageNet",
    about="Six rules at width 512, batch 100, learning rate 5, to 150 000 steps.",
    panels=(Panel(grid=CURVES, title="ImageNet", x="step", trace=loss_over_steps, log_x=False),),
    claims=tuple(
        Claim(says=f"Align-ada's best training loss is below that of {words}.", check=below("Align-ada", rule))
        for rule, words in (("Last layer", "the last layer alone"), ("Align-zero", "Align-zero"))
    ),
)
