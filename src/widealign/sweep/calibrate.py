"""A few short steps of each task that the store knows nothing of, so that a plan can say how long it will take."""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from widealign.config import RunConfig
from widealign.experiments import Job
from widealign.sweep.cost import Clock, clock
from widealign.sweep.launch import Launcher
from widealign.sweep.record import Record
from widealign.sweep.store import Store, write_json

_WIDEST = 32
_IMAGES = 100
# Beginning a run takes as long as some steps of a small network. ImageNet's evaluation set is never cut, so one epoch.
_EPOCHS = {"add": 10, "digits": 10, "imagenet": 1}
_UNCUT = ("add", "digits")


def calibrated(
    store: Store,
    finished: Iterable[Record],
    jobs: Sequence[Job],
    launcher: Launcher,
    tell: Callable[[str], object] = lambda words: None,
) -> Clock:
    """A clock for the jobs: finished runs first, then what was measured before, then one short run of each task.

    A short run is thrown away; its time is kept in the store's calibration.json.
    """
    known = clock(finished)
    rates = {**_kept(store), **known.rates}
    configs = [job for job in jobs if isinstance(job, RunConfig)]
    missing = {config.task: config for config in configs if config.task not in rates}
    if not missing:
        return Clock(rates)
    tell(f"Measuring a few steps of {', '.join(missing)} for the estimate …")
    measured = {task: _measure(config, launcher) for task, config in missing.items()}
    rates |= {task: rate for task, rate in measured.items() if rate}
    store.path.mkdir(parents=True, exist_ok=True)
    write_json(store.path / "calibration.json", {**_kept(store), **{task: rates.get(task, {}) for task in measured}})
    return Clock(rates)


def _measure(config: RunConfig, launcher: Launcher) -> dict[int, float]:
    images = None if config.task in _UNCUT else min(config.data_limit or _IMAGES, _IMAGES)
    epochs, width = min(config.epochs, _EPOCHS.get(config.task, 3)), min(config.width, _WIDEST)
    short = replace(config, epochs=epochs, width=width, data_limit=images, alignment=False)
    with tempfile.TemporaryDirectory() as folder:
        replace(launcher, store=Path(folder))(short)
        rates = clock(Store(Path(folder)).read().finished.values()).rates
    return dict(rates.get(config.task, {}))


def _kept(store: Store) -> dict[str, dict[int, float]]:
    try:
        content = json.loads((store.path / "calibration.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return {task: {int(width): rate for width, rate in rates.items()} for task, rates in content.items() if rates}
