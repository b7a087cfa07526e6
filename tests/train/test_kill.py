"""A run that is killed again and again ends as one that was left alone, bit for bit."""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

import pytest
import torch

from widealign.config import RunConfig
from widealign.train import checkpoint, run

_SETTINGS = {
    "task": "digits", "rule": "brsf", "width": 256, "lr": 0.5, "epochs": 24, "optimizer": "momentum",
    "schedule": "cosine", "log_steps": True, "threads": 1,
}  # fmt: skip
_KILLS = 8


class Runs:
    """Starts runs one after the other, each a process of its own."""

    def __init__(self, server: subprocess.Popen):
        self._server = server

    def start(self, out: Path) -> "Running":
        print(json.dumps({"out": str(out), "settings": _SETTINGS}), file=self._server.stdin, flush=True)
        return Running(int(self._server.stdout.readline()), self._server.stdout)


class Running:
    """A run that goes on at this moment."""

    def __init__(self, pid: int, answers: IO[str]):
        self.pid, self._answers = pid, answers

    def wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition() and not select.select([self._answers], [], [], 0.0005)[0]:
            pass

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def exit_code(self) -> int:
        return int(self._answers.readline())


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    child = Path(__file__).with_name("child.py")
    with subprocess.Popen([sys.executable, str(child)], stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as server:
        yield Runs(server)
        server.stdin.close()


def _grown(path: Path) -> Callable[[], bool]:
    before = path.stat().st_size if path.exists() else 0
    return lambda: path.exists() and path.stat().st_size > before


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("alone")
    run(RunConfig(**_SETTINGS), out)
    return out


@pytest.mark.parametrize("moment", ["anywhere", "while a checkpoint is written"])
def test_kill_minus_nine(runs, tmp_path, left_alone, moment):
    chance = random.Random(5)
    killed = 0
    for _ in range(_KILLS):
        process = runs.start(tmp_path)
        process.wait_until(_grown(tmp_path / "metrics.jsonl"))
        if moment == "anywhere":
            time.sleep(chance.uniform(0, 0.1))
        else:
            process.wait_until(lambda: any((tmp_path / "checkpoints").glob("*.tmp")))
        process.send(signal.SIGKILL)
        killed += process.exit_code() == -signal.SIGKILL
    assert killed >= _KILLS / 2
    assert runs.start(tmp_path).exit_code() == 0
    assert (tmp_path / "metrics.jsonl").read_bytes() == (left_alone / "metrics.jsonl").read_bytes()
    ours, expected = (checkpoint.load_newest(folder / "checkpoints") for folder in (tmp_path, left_alone))
    assert _same(ours["loop"], expected["loop"])
    results = [json.loads((folder / "result.json").read_bytes()) for folder in (tmp_path, left_alone)]
    for result in results:
        result.pop("seconds")
    assert results[0] == results[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_stop_saves_the_step_and_says_how_to_go_on(runs, tmp_path, left_alone, number):
    process = runs.start(tmp_path)
    process.wait_until(_grown(tmp_path / "metrics.jsonl"))
    process.send(number)
    assert process.exit_code() == 130
    message = (tmp_path / "message").read_text()
    steps = (tmp_path / "metrics.jsonl").read_text().count('"kind": "step"')
    assert f"stopped after step {steps} (epoch" in message
    assert f"everything is saved in {tmp_path}: the same command with --resume goes on from here" in message
    assert checkpoint.load_newest(tmp_path / "checkpoints")["loop"]["step"] == steps
    assert runs.start(tmp_path).exit_code() == 0
    assert (tmp_path / "metrics.jsonl").read_bytes() == (left_alone / "metrics.jsonl").read_bytes()
