"""A sweep over fake runs, as a process that a test can kill: `python drive.py STORE COUNT SLEEP [WORKERS]`."""

import sys
from pathlib import Path

from widealign.config import RunConfig
from widealign.sweep.cost import Clock
from widealign.sweep.execute import LocalExecutor, execute
from widealign.sweep.launch import Launcher
from widealign.sweep.plan import Plan
from widealign.sweep.store import Store


def configs(count: int, sleep: float) -> tuple[RunConfig, ...]:
    settings = {"task": "digits", "rule": "fa", "width": 8, "lr": 1.0, "epochs": 4}
    return tuple(RunConfig(seed=seed, rule_options={"sleep": sleep}, **settings) for seed in range(count))


def main(path: str, count: str, sleep: str, workers: str = "2") -> None:
    store = Store(Path(path))
    finished = store.read().finished
    todo = tuple(config for config in configs(int(count), float(sleep)) if config.id not in finished)
    seconds = {config.id: Clock({}).seconds(config) for config in todo}
    plan = Plan(todo=todo, seconds=seconds, alone=frozenset(), finished=len(finished), damaged={})
    launcher = Launcher(store=store.path, runner="fake_training:perform")
    progress = execute(plan, LocalExecutor(launcher, int(workers)), store, lambda progress: None)
    assert not progress.failed, progress.failed


if __name__ == "__main__":
    main(*sys.argv[1:])
