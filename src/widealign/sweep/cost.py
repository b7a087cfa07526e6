"""How long runs take: multiplications counted from the network, seconds from finished runs of the same task."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from statistics import median

from widealign.config import RunConfig
from widealign.experiments import Job, Study
from widealign.sweep.record import Record

START_UP = 3.0
_UNSEEN = 1e-10  # seconds for one unit of work on a slow core, until something has been measured
_STUDY = {"smoke": 30.0, "desk": 300.0, "paper": 1800.0}
_REAL_TEST_SET = 10_000
_SCORED = 25  # scores of all layers take as long as this many examples for each unit of width
_PASSES = {"last-layer": 1.3, "dfa": 2.3, "align-zero": 4.0, "align-ada": 4.0, "align-prop": 3.2}


@dataclass(frozen=True, kw_only=True)
class Size:
    """Work of one forward pass of one example, by width squared, by width and at any width; how many examples."""

    squared: float
    linear: float
    fixed: float = 0.0
    train: int
    evaluated: int

    def forward(self, width: int) -> float:
        """Work of one example."""
        return self.squared * width**2 + self.linear * width + self.fixed


# Convolutions are 9 multiplications an output; an activation's other work (normalisation, gate) counts as 60. In small
# networks the interpreter's work is what counts: it is the same at any width.
_SIZES = {
    "cifar10": Size(squared=24_192, linear=27_648 + 60 * 3_712, train=45_000, evaluated=5_000),
    "kmnist": Size(squared=2_205, linear=7_056 + 60 * 1_029, train=55_000, evaluated=5_000),
    "fashion-mnist": Size(squared=2_205, linear=7_056 + 60 * 1_029, train=55_000, evaluated=5_000),
    "imagenet": Size(squared=18_522, linear=84_672 + 60 * 7_203, train=1_281_167, evaluated=50_000),
    "add": Size(squared=100, linear=100 * 60, fixed=1_000_000, train=300, evaluated=400),
    "digits": Size(squared=1, linear=74 + 60 * 2, fixed=250_000, train=1_000, evaluated=297),
}


def work(config: RunConfig) -> float:
    """Multiplications of a whole run, roughly."""
    size = _SIZES[config.task]
    examples = min(config.data_limit or size.train, size.train)
    evaluated = min(examples, size.evaluated) if config.data_limit else size.evaluated
    if config.protocol == "sound":
        tested = 2 / config.epochs if config.evaluated == "chosen-epochs" else 1.0
        evaluated = tested * _REAL_TEST_SET + examples
    passes = _PASSES.get(config.rule, 3.0) + (3.0 if config.alignment else 0.0)
    scores = _SCORED * config.width if config.alignment else 0
    return config.epochs * (examples * passes + evaluated + scores) * size.forward(config.width)


@dataclass(frozen=True)
class Clock:
    """Seconds per unit of work, as measured, by task and width."""

    rates: Mapping[str, Mapping[int, float]]

    def seconds(self, job: Job) -> float:
        """Estimate for one job, with the start of its process."""
        if isinstance(job, Study):
            return START_UP + _STUDY["smoke" if job.options.get("quick") else job.options.get("scale", "desk")]
        known = self.rates.get(job.task, {})
        nearest = min(known, key=lambda width: abs(log(width / job.width)), default=None)
        return START_UP + work(job) * (_UNSEEN if nearest is None else known[nearest])

    def knows(self, task: str) -> bool:
        """Whether any run of the task has been measured."""
        return bool(self.rates.get(task))


def clock(records: Iterable[Record]) -> Clock:
    """What finished runs say about speed: the median over the runs of each task and width."""
    seen: dict[str, dict[int, list[float]]] = {}
    for record in records:
        config, epochs = record.job, record.result.get("epochs", 0)
        if isinstance(config, RunConfig) and epochs:
            rate = record.seconds / (work(config) * epochs / config.epochs)
            seen.setdefault(config.task, {}).setdefault(config.width, []).append(rate)
    return Clock({task: {width: median(rates) for width, rates in by.items()} for task, by in seen.items()})
