"""The two propositions, measured over width, and the wide limit itself."""

from math import hypot, sqrt

from widealign.experiments.claims import Check, Claim, Results, Verdict, slope_near
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


def _meets_limit(*rules: str) -> Check:
    """The widest networks' mean is the limit, within twice the standard error of the difference."""

    def check(results: Results) -> Verdict:
        if results.study is None:
            return Verdict(outcome="not enough runs", because="the study has not been run")
        study, limit = results.study, results.study["limits"]["error"]
        parts, hold = [], True
        for rule in rules:
            series = study["series"][f"{rule} error"]
            off = series["mean"][-1] - limit["mean"]
            noise = 2 * hypot(series["spread"][-1] / sqrt(len(study["seeds"])), limit["error"])
            hold = hold and abs(off) <= noise
            parts.append(f"{rule} {off:+.3f} ± {noise:.3f}".replace("-0.", "−0."))
        because = f"at width {study['widths'][-1]} off {limit['mean']:.3f} by: {', '.join(parts)}"
        return Verdict(outcome="holds" if hold else "does not hold", because=because)

    return check


EVERY = {"normal": "Backprop", "align-prop": "Align-prop", "align-ada": "Align-ada", "align-zero": "Align-zero"}
THEORY_3 = Experiment(
    id="theory-3",
    title="The wide limit: kernel regression, and what Align-zero is not",
    about=(
        "tanh networks with two hidden layers learn sines on a sphere by full-batch descent. Dashed: kernel regression "
        "that stops after the same steps, with the tangent kernel of width 2048 in place of the infinite one. "
        "Right: Align-zero takes every gradient at the initial weights and still is not the linearized network."
    ),
    studies={scale: (Study(kind="theory-3", options={"scale": scale}),) for scale in SCALES},
    rates=(
        Rates(
            title="Held-out error",
            series={name: f"{rule} error" for rule, name in EVERY.items()},
            limit="error",
            y_title="mean squared error",
        ),
        Rates(
            title="Distance from the linearized network",
            series={EVERY[rule]: f"{rule} distance" for rule in ("normal", "align-zero")},
            y_title="‖f − f_linearized‖",
        ),
    ),
    claims=(
        Claim(
            says="The error of wide networks is that of kernel regression, for every rule.", check=_meets_limit(*EVERY)
        ),
        Claim(
            says="Align-zero differs from the linearized network, by a distance that vanishes at least like 1/√m.",
            check=slope_near("align-zero distance", -0.5, 0.1, bound=True),
        ),
    ),
)
