"""Plans and stores as tables in a terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from widealign.config import RunConfig
from widealign.experiments import Experiment, Job, Scale
from widealign.sweep.plan import Plan
from widealign.sweep.record import Record
from widealign.sweep.store import Contents, Store
from widealign.sweep.words import duration, label


def print_plan(console: Console, experiments: tuple[Experiment, ...], scale: Scale, todo: Plan, workers: int) -> None:
    """What a sweep would do, and how long it takes."""
    names = ", ".join(experiment.id for experiment in experiments)
    console.print(
        Text(f"{names} at {scale} scale: {todo.finished} runs finished, {len(todo.todo)} to do", style="bold")
    )
    for name, damage in todo.damaged.items():
        console.print(Text(f"damaged, will be done anew: {name}: {damage}", style="yellow"))
    if not todo.todo:
        console.print("Nothing to do. `widealign report` shows the results.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("runs", "what", "widths", "one run", "together"):
        table.add_column(name, justify="left" if name in ("what", "widths") else "right")
    for what, group in _groups(todo.todo).items():
        times = [todo.seconds[job.id] for job in group]
        spread = (
            duration(min(times))
            if max(times) < 1.5 * min(times)
            else f"{duration(min(times))} to {duration(max(times))}"
        )
        table.add_row(str(len(group)), what, _widths(group), spread, duration(sum(times)))
    console.print(table)
    console.print(f"About {duration(todo.wall_seconds(workers))} on {workers} worker{'s' * (workers > 1)}.")


def print_fits(console: Console, store: Store, jobs: Sequence[Job]) -> None:
    """Of each finished theory study: predicted and measured exponents of the width, with their intervals."""
    finished = store.read().finished
    for study in (finished[job.id] for job in jobs if job.id in finished and not isinstance(job, RunConfig)):
        fits = study.result["study"].get("fits", {})
        if not fits:
            continue
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title=label(study.job), title_justify="left")
        for name in ("exponent of the width", "predicted", "measured", "95 % interval"):
            table.add_column(name, justify="left" if name.startswith("exponent") else "right")
        for name, fit in fits.items():
            low, high = fit["interval"]
            predicted = f"{'≤ ' if fit.get('bound') else ''}{fit['predicted']:g}" if "predicted" in fit else "–"
            table.add_row(name, predicted, f"{fit['slope']:.2f}", f"[{low:.2f}, {high:.2f}]")
        console.print(table)


def _groups(jobs: tuple[Job, ...]) -> dict[str, list[Job]]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(_group(job), []).append(job)
    return groups


def _group(job: Job) -> str:
    if not isinstance(job, RunConfig):
        return label(job)
    words = [job.task, job.rule, f"{job.epochs} epoch{'s' * (job.epochs > 1)}"]
    words += [f"{job.data_limit} images"] if job.data_limit else []
    words += ["alignment"] if job.alignment else []
    return ", ".join(words)


def _widths(jobs: list[Job]) -> str:
    return " ".join(map(str, sorted({job.width for job in jobs if isinstance(job, RunConfig)})))


def print_runs(
    console: Console, store: Store, contents: Contents, records: Sequence[Record], troubles: str | None
) -> None:
    """Finished runs, then what went wrong: `troubles` names one kind of it, or None for every kind."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("id", "run", "status", "best", "time"):
        table.add_column(name, justify="right" if name in ("best", "time") else "left")
    for record in sorted(records, key=lambda r: label(r.job)):
        table.add_row(
            record.job.id, label(record.job), record.result["status"], _best(record), duration(record.seconds)
        )
    for name, what, kind in _troubles(contents, troubles):
        table.add_row(name, what, kind, "", "", style="yellow")
    console.print(table if table.row_count else f"No such run in {store.path}.")
    _print_counts(console, contents)


def _troubles(contents: Contents, status: str | None) -> list[tuple[str, str, str]]:
    kinds = (
        ("failed", contents.failed),
        ("damaged", contents.damaged),
        ("unfinished", dict.fromkeys(sorted(contents.unfinished), "goes on from its checkpoint")),
    )
    return [(name, what, kind) for kind, found in kinds if status in (None, kind) for name, what in found.items()]


def _best(record: Record) -> str:
    best = record.best
    if "eval_acc" in best:
        return f"{100 * best['eval_acc']:.1f} %"
    return f"{best['eval_loss']:.3f}" if "eval_loss" in best else ""


def _print_counts(console: Console, contents: Contents) -> None:
    counts = Counter(record.result["status"] for record in contents.finished.values())
    counts |= {"failed": len(contents.failed), "damaged": len(contents.damaged), "unfinished": len(contents.unfinished)}
    total = sum(record.seconds for record in contents.finished.values())
    words = [f"{count} {name}" for name, count in counts.items() if count]
    console.print(Text(", ".join(words) + f"; {duration(total)} of computing", style="dim") if words else "")
