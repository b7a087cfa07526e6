"""Figure 2: the three updates side by side, drawn."""

from widealign.experiments.spec import Experiment

FIGURE_2 = Experiment(
    id="figure-2",
    title="Three updates of one weight matrix",
    about=(
        "What backprop, Align-ada and Align-zero read when they change the thick weight: the filled activity, and the "
        "error as it comes back along the coloured arrows, through the network of now or that of the start."
    ),
    drawing=True,
)
