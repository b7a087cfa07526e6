"""The body of `widealign align`. Torch is imported when a run begins, so that `--help` is quick."""

from dataclasses import replace

from widealign.config import Task
from widealign.errors import Diverged, UsageError
from widealign.train.command import RunArguments, summary

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

    rates, out = arguments.rates(task), arguments.folder(task)
    if len(rates) > 1:
        raise UsageError(f"align needs one learning rate; --lr gives {len(rates)}: {', '.join(map(str, rates))}")
    result = run(replace(arguments.config(task), alignment=True), out, arguments.options())
    print(summary(result, out))
    if result["status"] == "diverged":
        at = result["diverged"]
        raise Diverged(
            f"training diverged: the {at['what']} is not finite at step {at['step']} (epoch {at['epoch']}); lr was "
            f"{result['lr']:g}, try a smaller one"
        )
