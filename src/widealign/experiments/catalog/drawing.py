"""Figure 2: the three updates side by side, drawn."""

from widealign.experiments.spec import Experiment

FIGURE_2 = Experiment(
    id="figure-2",
    title="Three updates of one weight matrix",
    about="What backprop, Align-ada and Align-zero read when they change a layer: live or initial quantities.",
    drawing=True,
)
