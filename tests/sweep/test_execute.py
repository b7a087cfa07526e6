"""Whole sweeps: failures, kills, two at once, a cluster."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from drive import configs

from widealign.config import RunConfig
from widealign.sweep.cluster import RayExecutor
from widealign.sweep.execute import LocalExecutor, execute
from widealign.sweep.store import Store

HERE = Path(__file__).parent


def sweep(store: Path, count: int, sleep: float) -> subprocess.Popen:
    command = [sys.executable, str(HERE / "drive.py"), str(store), str(count), str(sleep)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(HERE)}, start_new_session=True)


def contents(store: Path) -> dict[str, bytes]:
    names = ("result.json", "metrics.jsonl", "config.json")
    folders = [store / config.id for config in configs(100, 0.3) if (store / config.id).exists()]
    return {f"{folder.name}/{name}": (folder / name).read_bytes() for folder in folders for name in names}


def test_what_fails_is_kept_and_the_rest_goes_on(launcher, make, plan_of):
    good = [make(seed=seed) for seed in range(3)]
    bad = make(fail="no such data")
    store, seen = Store(launcher.store), []
    progress = execute(plan_of(good[0], bad, *good[1:]), LocalExecutor(launcher, 2), store, lambda p: seen.append(p))
    assert {job.id for job in progress.finished} == {job.id for job in good}
    assert progress.failed[bad.id] == (bad, "no such data")
    assert seen
    assert set(store.read().finished) == {job.id for job in good}


def test_a_task_whose_runs_all_fail_alike_is_given_up(launcher, make, plan_of):
    bad = [make(seed=seed, fail="no such data") for seed in range(6)]
    other = RunConfig(task="add", rule="fa", width=8, lr=1.0)
    progress = execute(plan_of(*bad, other), LocalExecutor(launcher, 1), Store(launcher.store), lambda p: None)
    assert len(progress.failed) == 6
    assert progress.finished == [other]
    assert len(set((launcher.store / "starts.txt").read_text().split())) == 4


def test_timing_runs_come_last_and_one_at_a_time(launcher, make, plan_of):
    shared, timed = [make(seed=seed) for seed in range(2)], [make(seed=seed, sleep=0.1) for seed in (5, 6)]
    most = []
    plan = plan_of(*timed, *shared, alone=[job.id for job in timed])
    progress = execute(plan, LocalExecutor(launcher, 4), Store(launcher.store), lambda p: most.append(set(p.flying)))
    assert [job.seed in (5, 6) for job in progress.finished] == [False, False, True, True]
    timed_ids = {job.id for job in timed}
    assert all(len(flying) == 1 for flying in most if flying & timed_ids)


def test_killed_and_begun_again_gives_the_same_bytes_and_leaves_nothing_running(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    assert sweep(whole, 6, 0.3).wait(60) == 0
    first = sweep(killed, 6, 0.3)
    time.sleep(3.0)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    half = len(contents_finished(killed))
    assert half < 6
    time.sleep(1.0)
    touched = {path: path.stat().st_mtime_ns for path in killed.rglob("metrics.jsonl")}
    time.sleep(1.0)
    assert touched == {path: path.stat().st_mtime_ns for path in killed.rglob("metrics.jsonl")}
    done_before = {name: (killed / name / "result.json").stat().st_mtime_ns for name in contents_finished(killed)}
    assert sweep(killed, 6, 0.3).wait(60) == 0
    assert contents(killed) == contents(whole)
    assert all((killed / name / "result.json").stat().st_mtime_ns == when for name, when in done_before.items())


def contents_finished(store: Path) -> set[str]:
    return {path.parent.name for path in store.glob("*/result.json")}


def test_two_sweeps_share_a_store_and_do_each_run_once(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    both = [sweep(store, 6, 0.05), sweep(store, 6, 0.05)]
    assert [process.wait(90) for process in both] == [0, 0]
    assert len(contents_finished(store)) == 6
    lines = (store / "starts.txt").read_text().split()
    with_work = [name for name in lines if lines.count(name) > 1]
    assert all(len((store / name / "metrics.jsonl").read_text().splitlines()) == 4 for name in with_work)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_bytes(launcher, tmp_path, plan_of, monkeypatch):
    whole = tmp_path / "whole"
    whole.mkdir()
    assert sweep(whole, 3, 0.0).wait(60) == 0
    jobs = configs(3, 0.0)
    executor = RayExecutor(launcher, "local", 2)
    try:
        progress = execute(plan_of(*jobs), executor, Store(launcher.store), lambda p: None)
    finally:
        executor.stop()
    assert len(progress.finished) == 3
    for job in jobs:
        for name in ("result.json", "metrics.jsonl"):
            assert (launcher.store / job.id / name).read_bytes() == (whole / job.id / name).read_bytes()
