"""What a run shows while it goes on: a line on a terminal, nothing elsewhere."""

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from widealign.train.loop import EpochEnd, Loop, Steps
from widealign.train.trial import Figures

_REFRESH_SECONDS = 0.1


class Show(Protocol):
    """Is told of every event of a loop."""

    def __enter__(self) -> "Show": ...
    def __exit__(self, *exception: object) -> None: ...

    def event(self, event: Steps | EpochEnd) -> None:
        """Take notice of an event."""
        ...


class Quiet:
    """Shows nothing."""

    def __enter__(self) -> "Quiet":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def event(self, event: Steps | EpochEnd) -> None:
        """Nothing."""


class Line(Quiet):
    """A title, and below it one line: epoch, loss, accuracy, samples a second, time left. It fits on 80 columns."""

    def __init__(self, loop: Loop, title: str, *, console: Console | None = None):
        self.loop, self.title = loop, title
        self._figures = ""
        self._shown = self._begun = time.monotonic()
        self._done_before = loop.step
        self._bar = Progress(
            BarColumn(bar_width=None, table_column=Column(ratio=1)), TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(compact=True), console=console or Console(stderr=True), expand=True,
        )  # fmt: skip
        total = loop.trial.steps_per_epoch * loop.trial.epochs
        self._task = self._bar.add_task("", total=total, completed=loop.step, text="")

    def __enter__(self) -> "Line":
        self._bar.console.print(self.title, highlight=False)
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def event(self, event: Steps | EpochEnd) -> None:
        """Redraw, ten times a second at most."""
        now = time.monotonic()
        if isinstance(event, EpochEnd):
            self._figures = _short(event.figures)
        elif now - self._shown < _REFRESH_SECONDS:
            return
        else:
            rate = (self.loop.step - self._done_before) * self.loop.trial.batch_size / max(now - self._begun, 1e-9)
            epoch = f"epoch {event.epoch}/{self.loop.trial.epochs}  loss {event.losses[-1]:.3g}"
            self._bar.update(self._task, text=f"{epoch}  {self._figures}{rate:,.0f} samples/s")
        self._shown = now
        self._bar.update(self._task, completed=self.loop.step)


def _short(figures: Figures) -> str:
    """The accuracies; where there are none, the evaluation's losses (the training loss is on the line already)."""
    known = {name: value for name, value in figures.items() if value is not None}
    shown = {name: value for name, value in known.items() if name.endswith("_acc")}
    shown = shown or {name: value for name, value in known.items() if name != "train_loss"}
    return "".join(f"{name.removesuffix('_acc')} {value:.3g}  " for name, value in shown.items())


def show(loop: Loop, title: str) -> Show:
    """A line if a person is looking at standard error, else nothing."""
    return Line(loop, title) if sys.stderr.isatty() else Quiet()
