"""What a cell reads from one finished run. Each measure is a small function of the run and the cell's coordinates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, Protocol

At = Mapping[str, Any]
Points = list[tuple[float, float]]
Curve = Callable[["Run", At], Points]


class Run(Protocol):
    """What a measure may read: the figures of a finished run and the lines of its metrics file."""

    @property
    def best(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def last(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def result(self) -> Mapping[str, Any]: ...  # noqa: D102
    def lines(self, kind: str) -> Sequence[Mapping[str, Any]]: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of one run: how it is read, how it is written, its name on an axis, and which direction is better."""

    name: str
    axis: str
    of: Callable[[Run, At], float | None]
    better: Literal["high", "low"] = "high"
    decimals: int = 1
    unit: str = ""


def _percent(figure: str) -> Callable[[Run, At], float | None]:
    def read(run: Run, at: At) -> float | None:
        value = run.best.get(figure)
        return None if value is None else 100 * value

    return read


def _best_loss(run: Run, at: At) -> float | None:
    return run.best.get(at["figure"])


def _final_score(run: Run, at: At) -> float | None:
    scores = [line for line in run.lines("alignment") if line["layer"] == at["layer"]]
    return _read(at)(scores[-1]) if scores else None


def _read(at: At) -> Callable[[Mapping[str, Any]], float | None]:
    """What a cell reads of an alignment line: the score of the trained weights, or of the permuted ones."""
    return (lambda line: line.get("score_permuted")) if at.get("baseline") else _probe


def _probe(line: Mapping[str, Any]) -> float | None:
    """The image-probe score, which is what the paper prints; the exact one where a run has no probes."""
    score = line.get("score_probe")
    return line.get("score") if score is None else score


def _seconds_per_epoch(run: Run, at: At) -> float | None:
    epochs = run.result.get("epochs")
    return run.result["seconds"] / epochs if epochs else None


ACCURACY = Measure(name="best accuracy over epochs", axis="accuracy", of=_percent("eval_acc"), unit="%")
VALIDATION = Measure(name="best validation accuracy", axis="accuracy", of=_percent("val_acc"), unit="%")
TEST = Measure(
    name="test accuracy at the epoch chosen by validation", axis="accuracy", of=_percent("eval_acc"), unit="%"
)
LOSS = Measure(name="best loss over epochs", axis="loss", of=_best_loss, better="low", decimals=3)
SCORE = Measure(name="alignment score after the last epoch", axis="alignment score", of=_final_score, decimals=3)
SECONDS = Measure(name="seconds per epoch", axis="seconds per epoch", of=_seconds_per_epoch, better="low", decimals=2)


def scores_over_epochs(run: Run, at: At) -> Points:
    """Alignment score of one layer, or its permuted baseline, at each measured epoch."""
    of_layer = [line for line in run.lines("alignment") if line["layer"] == at["layer"]]
    return [(line["epoch"], y) for line in of_layer if (y := _read(at)(line)) is not None]


def loss_over_steps(run: Run, at: At) -> Points:
    """Training loss, averaged over stretches of steps."""
    return [(line["step"], line["loss"]) for line in thinned(run.lines("step"))]


def thinned(steps: Sequence[Mapping[str, Any]], most: int = 150) -> list[dict[str, Any]]:
    """Step lines averaged over at most that many stretches of equal length, each named by its last step."""
    size = max(1, -(-len(steps) // most))
    stretches = [steps[i : i + size] for i in range(0, len(steps), size)]
    return [
        {"kind": "step", "step": stretch[-1]["step"], "loss": fmean(losses)}
        for stretch in stretches
        if (losses := [line["loss"] for line in stretch if line["loss"] is not None])
    ]
