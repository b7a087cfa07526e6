"""Stands in for training: numbers that follow from the configuration, a checkpoint an epoch, troubles on request."""

import json
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

from widealign.config import RunConfig
from widealign.errors import DataError
from widealign.sweep.runners import DataAccess


def perform(config: RunConfig, folder: Path, data: DataAccess) -> None:
    wishes = config.rule_options
    with (folder.parent / "starts.txt").open("a") as log:
        log.write(f"{config.id}\n")
    if "fail" in wishes:
        raise DataError(wishes["fail"])
    if "crash" in wishes:
        raise ZeroDivisionError(wishes["crash"])
    if (folder / "result.json").exists():
        return
    if (folder / "config.json").exists():
        json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**asdict(config), "versions": {"fake": "1"}}))
    done = _checkpoint(folder)
    for epoch in range(len(done) + 1, config.epochs + 1):
        time.sleep(wishes.get("sleep", 0))
        done.append({"kind": "epoch", "epoch": epoch, **_figures(config, epoch)})
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in done))
        _die(wishes, folder, epoch)
    _finish(config, folder, done)


def _figures(config: RunConfig, epoch: int) -> dict[str, float]:
    accuracy = (int(config.id, 16) % 1000) / 2000 + epoch / 100
    return {"train_loss": 1 / epoch, "train_acc": accuracy, "eval_loss": 1.5 / epoch, "eval_acc": accuracy}


def _checkpoint(folder: Path) -> list[dict]:
    metrics = folder / "metrics.jsonl"
    return [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.exists() else []


def _die(wishes: dict, folder: Path, epoch: int) -> None:
    """Die at this epoch as many times as asked."""
    if wishes.get("die", 0) > epoch - 1:
        os.kill(os.getpid(), signal.SIGKILL)


def _finish(config: RunConfig, folder: Path, done: list[dict]) -> None:
    figures = [{k: v for k, v in line.items() if k not in ("kind", "epoch")} for line in done]
    better = {name: max if name.endswith("acc") else min for name in figures[0]}
    result = {
        "status": "diverged" if "diverge" in config.rule_options else "finished",
        "best": {name: choose(line[name] for line in figures) for name, choose in better.items()},
        "last": figures[-1],
        "epochs": len(done),
        "seconds": 0.01 * len(done),
    }
    temporary = folder / "result.json.tmp"
    temporary.write_text(json.dumps(result))
    temporary.replace(folder / "result.json")
