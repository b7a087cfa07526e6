"""The first five minutes: bundled data only, minutes on two cores. Not part of `all`."""

from typing import Any

from widealign.experiments.catalog.alignment import BACKPROP
from widealign.experiments.claims import Claim, leads, rises
from widealign.experiments.measures import LOSS, SCORE, scores_over_epochs
from widealign.experiments.rows import layers, rules, widths
from widealign.experiments.spec import SCALES, Budget, Experiment, Grid, Line, Panel

DIGITS: dict[str, Any] = {"task": "digits", "epochs": 40, "threads": 1}
ANY = dict.fromkeys(SCALES, Budget())
QUICK = "The paper has no numbers for this: a first look on a small task."

RULES = Grid(
    name="demo-rules",
    title="Digits, accuracy on held-out images",
    rows=rules("normal", "align-prop", "align-ada", "align-zero", "dfa", "fa", "last-layer"),
    columns=tuple(Line(label=str(width), sets={"width": width}) for width in (16, 64, 256)),
    holds=DIGITS,
    lrs=(2.0,),
    budgets=ANY,
    note=QUICK,
)
ADD = Grid(
    name="demo-add",
    title="Add task, test loss",
    rows=tuple(
        Line(label=label, sets={"rule": rule, "figure": "eval_loss"})
        for rule, label in (
            ("normal", "Normal"),
            ("align-ada", "Align-ada"),
            ("align-zero", "Align-zero"),
            ("last-layer", "Readout-only"),
        )
    ),
    columns=widths(8, 32),
    holds={"task": "add", "epochs": 60, "threads": 1},
    lrs=(0.001,),
    measure=LOSS,
    budgets=ANY,
    note="60 epochs of the 500 behind the paper's table 8, to whose numbers these losses are on the way.",
)
ALIGNMENT = Grid(
    name="demo-alignment",
    title="Digits, alignment score after training",
    rows=layers(3),
    columns=tuple(Line(label=str(width), sets={"width": width}) for width in (16, 64, 256)),
    holds={**DIGITS, **BACKPROP},
    lrs=(2.0,),
    measure=SCORE,
    budgets=ANY,
    note=QUICK,
)

DEMO_RULES = Experiment(
    id="demo-1",
    in_all=False,
    title="Seven rules on digits",
    about="A multilayer perceptron on 8 x 8 digits: 1 000 training images, 40 epochs, learning rate 2, one seed.",
    tables=(RULES,),
    panels=(Panel(grid=RULES, title=RULES.title),),
    claims=(
        Claim(
            says="An Align rule is the best of the rules without backprop.",
            check=leads("Align-prop", "DFA", "FA", "Last layer"),
        ),
    ),
)
DEMO_ADD = Experiment(
    id="demo-2",
    in_all=False,
    title="The Add task",
    about="The paper's recurrent network at three widths under four rules, 60 epochs.",
    tables=(ADD,),
    panels=(Panel(grid=ADD, title=ADD.title, log_y=True),),
)
DEMO_ALIGNMENT = Experiment(
    id="demo-3",
    in_all=False,
    title="Do weights align with their inputs?",
    about="Backprop beside its companion on digits: the score of every layer after 40 epochs, and along the way.",
    tables=(ALIGNMENT,),
    panels=(
        Panel(
            grid=ALIGNMENT,
            title="While training, width 256",
            x="epoch",
            by=("layer",),
            keeps={"width": (256,)},
            trace=scores_over_epochs,
            log_x=False,
        ),
    ),
    claims=(
        Claim(
            says="Alignment, averaged over the layers, grows with width.",
            check=rises("Layer 1", "Layer 2", "Layer 3"),
        ),
    ),
)
