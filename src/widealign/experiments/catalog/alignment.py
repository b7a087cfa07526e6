"""Alignment of weights with inputs: tables 3, 4, 5 (after training), figure 1 (their curves), figure 8 (during it)."""

from typing import Any

from widealign.experiments.catalog.shared import CIFAR, FASHION, FASHION_NOTE, KMNIST
from widealign.experiments.claims import Claim, agrees, each_above, rises
from widealign.experiments.measures import SCORE, scores_over_epochs
from widealign.experiments.rows import layers, widths
from widealign.experiments.spec import Budget, Experiment, Grid, Line, Panel

BACKPROP: dict[str, Any] = {"rule": "normal", "alignment": True}
SMOKE = Budget(caps={"epochs": 1, "data_limit": 150}, keeps={"width": (8, 16)})
DESK = Budget(caps={"epochs": 20, "data_limit": 450}, keeps={"width": (8, 16, 32, 64)}, seeds=(99, 100, 101))
CHAOS = "At learning rate 5 narrow networks are chaotic: rounding noise alone moves a score by up to 0.09."


def _grid(
    name: str,
    title: str,
    holds: dict[str, Any],
    count: int,
    lr: float,
    desk: Budget,
    paper: str = "",
    note: str = CHAOS,
) -> Grid:
    return Grid(
        name=name,
        title=title,
        rows=layers(count),
        columns=widths(),
        holds={**holds, **BACKPROP},
        lrs=(lr,),
        measure=SCORE,
        tolerance=lambda at: 0.09,
        budgets={"smoke": SMOKE, "desk": desk, "paper": Budget()},
        paper=paper,
        note=note,
    )


RELU = _grid("table-3", "CIFAR-10, ReLU", CIFAR, 7, 5.0, DESK, paper="table_3_alignment_cifar10_relu")
RELU_KMNIST = _grid("table-4", "KMNIST, ReLU", KMNIST, 3, 5.0, DESK, paper="table_4_alignment_kmnist_relu")
RELU_FASHION = _grid("table-4-fashion", "Fashion-MNIST, ReLU", FASHION, 3, 5.0, DESK, note=FASHION_NOTE)
TANH = _grid(
    "table-5",
    "CIFAR-10, tanh",
    {**CIFAR, "activation": "tanh", "epochs": 100},
    7,
    2.0,
    DESK,
    paper="table_5_alignment_cifar10_tanh",
    note="",
)


def _claims(count: int, *grids: str) -> tuple[Claim, ...]:
    rows = [f"Layer {layer}" for layer in range(1, count + 1)]
    says = "Alignment, averaged over the layers, grows with width."
    return tuple(Claim(says=says, check=rises(*rows), grid=grid) for grid in grids)


TABLE_3 = Experiment(
    id="table-3",
    title="Alignment score per layer, CIFAR-10",
    about="Backprop beside its companion, widths 8 to 512; 8-layer ReLU, learning rate 5, score after 150 epochs.",
    tables=(RELU,),
    claims=(
        *_claims(7, "table-3"),
        Claim(says="At least 80 % of the cells agree with the printed ones.", check=agrees(0.8)),
    ),
)
TABLE_4 = Experiment(
    id="table-4",
    title="Alignment score per layer, KMNIST",
    about="Backprop beside its companion, widths 8 to 512; 4-layer ReLU, learning rate 5, score after 100 epochs.",
    tables=(RELU_KMNIST, RELU_FASHION),
    claims=_claims(3, "table-4", "table-4-fashion"),
)
TABLE_5 = Experiment(
    id="table-5",
    title="Alignment score per layer, tanh network",
    about="Backprop beside its companion, widths 8 to 512; 8-layer tanh, learning rate 2, score after 100 epochs.",
    tables=(TANH,),
    claims=_claims(7, "table-5"),
)
FIGURE_1 = Experiment(
    id="figure-1",
    title="Alignment against width",
    about="Tables 3 and 4 as curves, one a layer.",
    panels=tuple(Panel(grid=grid, title=grid.title, by=("layer",)) for grid in (RELU, RELU_KMNIST, RELU_FASHION)),
)


def _baselines(count: int) -> tuple[Line, ...]:
    return tuple(
        Line(label=f"Layer {layer}, permuted", sets={"layer": layer, "baseline": True}) for layer in range(1, count + 1)
    )


def _during(name: str, title: str, holds: dict[str, Any], count: int, **more: Any) -> Grid:
    return Grid(
        name=name,
        title=title,
        rows=(*layers(count), *_baselines(count)),
        columns=(Line(label="after training"),),
        axis="",
        holds={**holds, **BACKPROP, "epochs": 300, "width": 512},
        lrs=(5.0,),
        measure=SCORE,
        tolerance=lambda at: 0.09,
        budgets={
            "smoke": Budget(caps={"epochs": 2, "data_limit": 150, "width": 8}),
            "desk": Budget(caps={"epochs": 60, "data_limit": 450, "width": 32}),
            "paper": Budget(),
        },
        **more,
    )


DURING = (
    _during("figure-8-cifar10", "CIFAR-10", CIFAR, 7),
    _during("figure-8-kmnist", "KMNIST", KMNIST, 3),
    _during("figure-8-fashion", "Fashion-MNIST", FASHION, 3, note=FASHION_NOTE),
)
FIGURE_8 = Experiment(
    id="figure-8",
    title="Alignment while training",
    about="Score of each layer over 300 epochs at width 512, with the baseline of permuted weights (dotted).",
    panels=tuple(
        Panel(grid=grid, title=grid.title, x="epoch", by=("layer", "baseline"), trace=scores_over_epochs, log_x=False)
        for grid in DURING
    ),
    claims=tuple(
        Claim(
            says="After training, every layer is more aligned than its permuted weights are.",
            check=each_above({row.label: f"{row.label}, permuted" for row in grid.rows if "baseline" not in row.sets}),
            grid=grid.name,
        )
        for grid in DURING
    ),
)
