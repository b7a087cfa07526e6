"""A whole benchmark: case by case, with an estimate of the time left, and the rows written after each case."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from widealign import rules
from widealign.bench.cases import NETWORKS, Case, Choice, Contender, cases, contenders
from widealign.bench.measure import Bench, Clock, Freed, Row, measure, prepared_process
from widealign.bench.table import tables
from widealign.bench.timing import Effort
from widealign.errors import UsageError

QUICK, FULL = Effort(seconds=0.4, rounds=(5, 15)), Effort(seconds=2.5)
_SPEED = 4e10  # multiplications a second on one core: for the estimate of the time left only
Device = Literal["auto", "cpu", "cuda"]


def run(choice: Choice, *, threads: int, device: Device, clock: Clock, freed: Freed, out: Path | None) -> None:
    """Measures, prints, writes. What cannot be timed is said at the end; the rest goes on."""
    for rule in choice.rules:
        rules.get(rule)
    plan = [(case, contenders(case, choice, rules.names())) for case in cases(choice)]
    effort = QUICK if choice.quick else FULL
    bench = Bench(effort=effort, device=_device(device), threads=threads, clock=clock,
                  precision=choice.precision, freed=freed)  # fmt: skip
    console = _console()
    found, failures = list[Row](), list[str]()
    with prepared_process(bench), _progress(console, sum(_seconds(case, who, effort) for case, who in plan)) as advance:
        for case, who in plan:
            rows, failed = measure(case, who, bench, advance.to(case, _seconds(case, who, effort), len(who)))
            found, failures = [*found, *rows], [*failures, *failed]
            if out is not None:
                write(out, found)
    console.print(tables(found))
    _conclude(console, found, failures, out)


def write(out: Path, rows: Sequence[Row]) -> None:
    """The whole file or none: a reader never sees a part."""
    temporary = out.with_name(out.name + ".tmp")
    temporary.write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n")
    temporary.replace(out)


def _conclude(console: Console, rows: Sequence[Row], failures: Sequence[str], out: Path | None) -> None:
    for failure in failures:
        console.print(f"left out: {failure}", style="yellow", markup=False)
    if out is not None:
        console.print(f"\n{len(rows)} rows: {out.resolve()}", soft_wrap=True, highlight=False)
    if failures:
        total = len(failures) + len(rows)
        raise UsageError(f"{len(failures)} of {total} could not be timed; the reasons are above.")


def _device(asked: Device) -> torch.device:
    known = torch.cuda.is_available()
    if asked == "cuda" and not known:
        raise UsageError("--device cuda needs a GPU that PyTorch can use, and there is none; give cpu or auto.")
    return torch.device("cuda" if known and asked != "cpu" else "cpu")


def _seconds(case: Case, who: Sequence[Contender], effort: Effort) -> float:
    """How long a case takes, roughly."""
    step = 3 * case.batch * NETWORKS[case.network].work(case.width) / _SPEED
    ready = 0.3 + 1.5 * step * (2 + case.examples / case.batch)
    compiled = 20 * sum(one.mode == "compiled" for one in who)
    return len(who) * (ready + max(effort.seconds, effort.rounds[0] * step)) + compiled


class _Advance:
    """Moves the bar; without a terminal, says a line for each case."""

    def __init__(self, bar: Progress, console: Console, total: float):
        self.bar, self.console, self.task = bar, console, bar.add_task("", total=total)
        self.done = 0.0

    def to(self, case: Case, seconds: float, contenders: int) -> Callable[[Contender], None]:
        """What a case calls before it makes a contender ready: that is half of its time, roughly."""
        self.done += seconds
        self.bar.update(self.task, completed=self.done - seconds)
        if not self.console.is_terminal:
            self.console.print(case.title, highlight=False)

        def tell(contender: Contender) -> None:
            words = f"{case.network}, width {case.width}: {contender.rule}, {contender.mode}"
            self.bar.update(self.task, description=words, advance=seconds / contenders / 2)

        return tell


@contextmanager
def _progress(console: Console, total: float) -> Iterator[_Advance]:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield _Advance(bar, console, total)


def _console() -> Console:
    found = Console()
    return found if found.is_terminal else Console(width=150)
