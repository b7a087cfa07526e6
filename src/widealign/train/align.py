"""The body of `widealign align`. Torch is imported when a run begins, so that `--help` is quick."""

from dataclasses import replace

from widealign.config import Task
from widealign.errors import Diverged, UsageError
from widealign.train.command import RunArguments, summary, what_happened

_DEFAULTS = RunArguments()


def align(task: Task, *, arguments: RunArguments = _DEFAULTS) -> None:
    """Train beside companion weights, and write how well each layer's weights align with its inputs.

    Adds lines of kind "alignment" to the run's metrics after each epoch: the exact score, the image-probe score of the
    paper's tables, and that of shuffled weights.

    Args:
        task: what to learn.
        arguments: the options of train.
    """
    from widealign.train import run

    rates, config = arguments.rates(task), replace(arguments.config(task), alignment=True)
    out = arguments.folder(config)
    if len(rates) > 1:
        raise UsageError(f"align needs one learning rate; --lr gives {len(rates)}: {', '.join(map(str, rates))}")
    result = run(config, out, arguments.options())
    print(summary(result, out))
    if result["status"] == "diverged":
        raise Diverged(what_happened(result))
