"""What a scale spends on an experiment, in words."""

from collections.abc import Collection, Iterable

from widealign.config import RunConfig
from widealign.experiments import Job


def spent(jobs: Iterable[Job]) -> str:
    """What the planned runs are, from their epochs to their seeds; empty for measurements that are not training runs.

    Example:
        >>> settings = {"task": "cifar10", "rule": "fa", "lr": 1.0, "epochs": 10, "data_limit": 1500}
        >>> spent(RunConfig(width=width, **settings) for width in (8, 16, 64))
        '10 epochs, 1500 images, widths 8 to 64, learning rate 1, seed 99'
    """
    configs = [job for job in jobs if isinstance(job, RunConfig)]
    if not configs:
        return ""
    limits = {config.data_limit for config in configs if config.task not in ("add", "digits")}
    words = [_span({config.epochs for config in configs}, "epoch")]
    words += [_images(limits)] if limits else []
    words += [_named("width", {config.width for config in configs})]
    words += [_rates({config.lr for config in configs})]
    words += [f"seed{'s' * (len({c.seed for c in configs}) > 1)} {numbers({c.seed for c in configs})}"]
    return ", ".join(words)


def _span(values: Collection[int], noun: str) -> str:
    low, high = min(values), max(values)
    return f"{low} {noun}{'s' * (low > 1)}" if low == high else f"{low} to {high} {noun}s"


def _images(limits: Collection[int | None]) -> str:
    some = {limit for limit in limits if limit is not None}
    if not some:
        return "all images"
    return f"{min(some)} to all images" if None in limits else _span(some, "image")


def _named(noun: str, values: Collection[int]) -> str:
    low, high = min(values), max(values)
    return f"{noun} {low}" if low == high else f"{noun}s {low} to {high}"


def _rates(values: Collection[float]) -> str:
    return f"learning rate{'s' * (len(values) > 1)} {', '.join(f'{value:g}' for value in sorted(values))}"


def numbers(values: Collection[int]) -> str:
    """`99–101, 105`: consecutive numbers as spans."""
    spans: list[list[int]] = []
    for number in sorted(values):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}–{high}" for low, high in spans)
