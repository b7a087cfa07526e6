from pathlib import Path

import pytest

from widealign.config import RunConfig
from widealign.sweep.cost import Clock
from widealign.sweep.launch import Launcher
from widealign.sweep.plan import Plan

HERE = Path(__file__).parent


@pytest.fixture
def make():
    """A configuration that the fake runner does in no time."""

    def config(width: int = 8, lr: float = 1.0, seed: int = 99, epochs: int = 2, **wishes) -> RunConfig:
        other = {name: wishes.pop(name) for name in ("rule", "alignment", "log_steps") if name in wishes}
        settings = {"task": "digits", "rule": "fa", "width": width, "lr": lr, "seed": seed, "epochs": epochs, **other}
        return RunConfig(**settings, rule_options=wishes)

    return config


@pytest.fixture
def launcher(tmp_path, monkeypatch) -> Launcher:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    store = tmp_path / "store"
    store.mkdir()
    return Launcher(store=store, runner="fake_training:perform")


@pytest.fixture
def plan_of():
    def plan(*jobs, alone=()) -> Plan:
        seconds = {job.id: Clock({}).seconds(job) for job in jobs}
        return Plan(todo=jobs, seconds=seconds, alone=frozenset(alone), finished=0, damaged={})

    return plan
