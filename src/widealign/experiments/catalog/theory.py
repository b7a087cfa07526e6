"""The two propositions, measured over width."""

from widealign.experiments.claims import Claim, slope_near
from widealign.experiments.spec import SCALES, Experiment, Rates
from widealign.experiments.study import Study

RULES = {"align-zero": "Align-zero", "align-ada": "Align-ada", "align-prop": "Align-prop"}
LEMMA = {
    "weights": "The relative change of the hidden weights",
    "activity": "The relative change of the hidden activities",
    "jacobian": "The relative change of the output's Jacobian",
}

THEORY_1 = Experiment(
    id="theory-1",
    title="Proposition 1: weight changes approach their aligned form like 1/m",
    about=(
        "Multilayer networks of smooth activation (tanh, erf) under full-batch gradient flow in small steps, several "
        "seeds, width m doubling; with the rates of lemma 1."
    ),
    studies={scale: (Study(kind="theory-1", options={"scale": scale}),) for scale in SCALES},
    rates=(
        Rates(
            title="Proposition 1",
            series={
                "scaled difference": "difference",
                "relative, hidden layers": "relative difference, hidden",
                "relative, first layer": "relative difference, first layer",
                "1 − score, hidden layers": "1 − score, hidden",
            },
        ),
        Rates(title="Lemma 1", series={name: name for name in (*LEMMA, "kernel")}),
    ),
    claims=(
        Claim(says="The scaled operator-norm difference falls like 1/m.", check=slope_near("difference", -1.0, 0.15)),
        *(Claim(says=f"{says} falls like 1/√m.", check=slope_near(name, -0.5, 0.1)) for name, says in LEMMA.items()),
        Claim(
            says="The tangent kernel's relative change falls at least like 1/√m.",
            check=slope_near("kernel", -0.5, 0.1, bound=True),
        ),
    ),
)
THEORY_2 = Experiment(
    id="theory-2",
    title="Proposition 2: the rules' networks approach gradient descent's like 1/√m",
    about=(
        "Differences of Align-zero, Align-ada and, beyond the paper, Align-prop from gradient descent, over width m: "
        "in the hidden layers' outputs and in the network's, which the proposition bounds."
    ),
    studies={scale: (Study(kind="theory-2", options={"scale": scale}),) for scale in SCALES},
    rates=(
        Rates(title="Hidden layers", series={name: f"{rule} layers" for rule, name in RULES.items()}),
        Rates(title="Network output", series={name: f"{rule} output" for rule, name in RULES.items()}),
    ),
    claims=(
        *(
            Claim(
                says=f"The hidden layers of {name} approach gradient descent's like 1/√m.",
                check=slope_near(f"{rule} layers", -0.5, 0.1),
            )
            for rule, name in RULES.items()
        ),
        *(
            Claim(
                says=f"The output of {name} approaches gradient descent's at least like 1/√m.",
                check=slope_near(f"{rule} output", -0.5, 0.1, bound=True),
            )
            for rule, name in RULES.items()
        ),
    ),
)
