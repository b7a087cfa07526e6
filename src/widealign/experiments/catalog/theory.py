"""The two propositions, measured over width."""

from widealign.experiments.claims import Claim, slope_near
from widealign.experiments.spec import Experiment
from widealign.experiments.study import Study

THEORY_1 = Experiment(
    id="theory-1",
    title="Proposition 1: weight changes approach their aligned form like 1/m",
    about="Multilayer networks of smooth activation under full-batch gradient flow with small steps, width m doubling.",
    studies={
        "smoke": (Study(kind="theory-1", options={"scale": "smoke"}),),
        "desk": (Study(kind="theory-1", options={"scale": "desk"}),),
        "paper": (Study(kind="theory-1", options={"scale": "paper"}),),
    },
    claims=(
        Claim(says="The scaled operator-norm difference falls like 1/m.", check=slope_near("difference", -1.0, 0.15)),
    ),
)
THEORY_2 = Experiment(
    id="theory-2",
    title="Proposition 2: the rules' outputs approach gradient descent's like 1/√m",
    about="Output differences of Align-zero, Align-ada and Align-prop from gradient descent, width m doubling.",
    studies={
        "smoke": (Study(kind="theory-2", options={"scale": "smoke"}),),
        "desk": (Study(kind="theory-2", options={"scale": "desk"}),),
        "paper": (Study(kind="theory-2", options={"scale": "paper"}),),
    },
    claims=tuple(
        Claim(says=f"The output of {name} approaches gradient descent's like 1/√m.", check=slope_near(rule, -0.5, 0.1))
        for rule, name in (("align-zero", "Align-zero"), ("align-ada", "Align-ada"), ("align-prop", "Align-prop"))
    ),
)
