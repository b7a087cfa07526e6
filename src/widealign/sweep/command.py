"""`widealign reproduce` and `widealign runs`."""

import os
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from widealign.arguments import Whole
from widealign.errors import UsageError
from widealign.experiments import Experiment, Scale, select
from widealign.sweep.calibrate import calibrated
from widealign.sweep.choose import parse_only
from widealign.sweep.cluster import RayExecutor
from widealign.sweep.execute import Executor, LocalExecutor, Progress, execute
from widealign.sweep.launch import Launcher
from widealign.sweep.live import LivePicture
from widealign.sweep.pack import SUFFIX, write_pack
from widealign.sweep.plan import Plan, plan, wanted
from widealign.sweep.runners import DataAccess
from widealign.sweep.say import print_fits, print_plan, print_runs
from widealign.sweep.store import Store
from widealign.sweep.words import console

_STOPPED = 130


def default_store() -> Path:
    """$WIDEALIGN_STORE, else ./store."""
    return Path(os.environ.get("WIDEALIGN_STORE", "store"))


def reproduce(
    *ids: str,
    scale: Scale = "smoke",
    only: str | None = None,
    seeds: Whole | None = None,
    workers: Whole | None = None,
    ray: str | None = None,
    store: Path | None = None,
    data_dir: Path | None = None,
    allow_unverified: bool = False,
    dry_run: bool = False,
) -> None:
    """Do the runs that tables and figures need and the store does not have yet.

    A run that two tables share is done once. Stop it with Ctrl-C, or kill it: the same command goes on where it was.

    Args:
        ids: table-1 … table-10, figure-1 … figure-9, theory-1, theory-2, theory-3, sound-9, epochs-9, refresh-1,
            speed-1, or all.
        scale: smoke takes seconds, desk an hour or two on two cores, paper is everything.
        only: KEY=VALUE,… such as width=8,rule=align-ada: leave the other runs out.
        seeds: Number of seeds for each cell; the experiment's own if not given.
        workers: Runs at a time; one for each core if not given.
        ray: Address of a Ray cluster (host:port or auto), or local to start one here.
        store: Folder of the runs; $WIDEALIGN_STORE or ./store if not given.
        data_dir: Where the data are looked for first.
        allow_unverified: Take data files that are not the official ones.
        dry_run: Print the plan and its time, and do nothing.
    """
    screen, place = console(), Store(store or default_store())
    experiments, wanted_only = select(ids), parse_only(only)
    _require(workers=workers, seeds=seeds)
    workers = workers or os.cpu_count() or 1
    data = DataAccess(data_dir=str(data_dir.resolve()) if data_dir else None, allow_unverified=allow_unverified)
    launcher = Launcher(store=place.path.resolve(), data=data)
    contents = place.read()
    every = wanted(experiments, scale, seeds, wanted_only)
    if not every:
        _nothing_wanted(screen, experiments, scale, only)
        return
    missing = [job for job in every if job.id not in contents.finished]
    clock = calibrated(place, contents.finished.values(), missing, launcher, tell=screen.print)
    todo = plan(experiments, scale, contents, clock, seeds=seeds, only=wanted_only)
    print_plan(screen, experiments, scale, todo, workers)
    if dry_run or not todo.todo:
        print_fits(screen, place, every)
        return
    _set_aside_damage(screen, place, todo)
    executor: Executor = RayExecutor(launcher, ray, workers) if ray else LocalExecutor(launcher, workers)
    with LivePicture(screen, place, executor.limit) as picture:
        progress = execute(todo, executor, place, picture)
    print_fits(screen, place, every)
    _conclude(screen, progress, place)


def _nothing_wanted(screen: Console, experiments: tuple[Experiment, ...], scale: Scale, only: str | None) -> None:
    names = ", ".join(experiment.id for experiment in experiments)
    if only:
        raise UsageError(
            f"--only {only} leaves no run of {names} at {scale} scale. `widealign reproduce {experiments[0].id} "
            f"--scale {scale} --dry-run` shows what there is."
        )
    screen.print(f"{names} needs no run. `widealign report` draws it.")


def _require(**numbers: int | None) -> None:
    bad = [
        f"--{name} must be at least 1; given {value}"
        for name, value in numbers.items()
        if value is not None and value < 1
    ]
    if bad:
        raise UsageError("; ".join(bad) + ".")


def _set_aside_damage(screen: Console, store: Store, todo: Plan) -> None:
    for job in todo.todo:
        if job.id in todo.damaged and (kept := store.set_aside(job)):
            screen.print(Text(f"{job.id}: the damaged folder is kept as {kept}", style="yellow"))


def _conclude(screen: Console, progress: Progress, store: Store) -> None:
    if progress.stopped:
        screen.print("Stopped; what was running is saved. The same command goes on from here.")
        sys.exit(_STOPPED)
    screen.print(f"{len(progress.finished)} runs done. `widealign report --store {store.path}` makes the page.")
    if progress.failed:
        reasons = Counter(message for _, message in progress.failed.values())
        most = "; ".join(f"{count} × {message}" for message, count in reasons.most_common(3))
        raise UsageError(f"{len(progress.failed)} of {len(progress.plan.todo)} runs failed: {most}")


def runs(
    *,
    store: Path | None = None,
    only: str | None = None,
    status: str | None = None,
    pack: Path | None = None,
) -> None:
    """List the runs of a store.

    Args:
        store: Folder of the runs; $WIDEALIGN_STORE or ./store if not given.
        only: KEY=VALUE,… such as task=add,width=8.
        status: finished, diverged, failed, unfinished or damaged.
        pack: Keep the listed finished runs in one small file, which a store can hold in place of their folders.
    """
    screen, place, chosen = console(), Store(store or default_store()), parse_only(only)
    if status not in (None, "finished", "diverged", "failed", "unfinished", "damaged"):
        raise UsageError(f"--status must be finished, diverged, failed, unfinished or damaged; given {status!r}.")
    if not place.path.is_dir():
        raise UsageError(
            f"There is no store at {place.path}. `widealign reproduce` makes one; name another by --store."
        )
    contents = place.read()
    records = [r for r in contents.finished.values() if chosen(r.job) and status in (None, r.result["status"])]
    if pack is not None:
        if not pack.parent.is_dir():
            raise UsageError(f"--pack must be a file in a folder that exists; given {pack}.")
        target = pack if pack.name.endswith(SUFFIX) else pack.with_name(pack.name + SUFFIX)
        screen.print(f"{write_pack(target, records)} runs packed in {target}.")
        return
    print_runs(screen, place, contents, records, status if only is None else "finished")
