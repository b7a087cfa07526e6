"""Every experiment that has results, with the files that stand beside a page: what the page and its Markdown share."""

from dataclasses import dataclass
from pathlib import Path

from widealign.experiments import Experiment, Scale, experiments
from widealign.report.filled import blocks
from widealign.report.shown import Shown, shown
from widealign.sweep import Contents


@dataclass(frozen=True, kw_only=True)
class Section:
    """One experiment with everything there is of it; no blocks if nothing has been run."""

    experiment: Experiment
    blocks: tuple[Shown, ...]

    @property
    def name(self) -> str:
        """`table-6` as `Table 6`."""
        return self.experiment.id.replace("-", " ").capitalize()


def gather(contents: Contents, out: Path, only: Scale | None = None) -> tuple[Section, ...]:
    """Every experiment; writes each figure as PNG and PDF and all data as CSV to a folder beside `out`."""
    beside = out.with_name(f"{out.stem}-files")
    beside.mkdir(parents=True, exist_ok=True)
    return tuple(
        Section(
            experiment=experiment,
            blocks=tuple(shown(block, beside) for block in blocks(experiment, contents, only)),
        )
        for experiment in experiments().values()
    )
