"""Curves of the authors' own scripts, and of our own where theirs take too long for every test run."""

import csv
import json
from importlib.resources import files
from pathlib import Path

import pytest

from widealign.config import RunConfig
from widealign.data.locate import candidates
from widealign.train import run

_GOLDEN = Path(__file__).parents[1] / "golden"
_CIFAR = json.loads((_GOLDEN / "cifar10_width8_n1500.json").read_text())
_ADD = json.loads((_GOLDEN / "add_10_epochs.json").read_text())
_RATES = 0.001
_TABLE_8 = {"align-ada": "Align-ada", "align-zero": "Align-zero", "last-layer": "Readout-only", "normal": "Normal"}

_has_cifar = any((folder / "data_batch_1.bin").is_file() for folder in candidates("cifar-10-batches-bin", None))
needs_cifar = pytest.mark.skipif(not _has_cifar, reason="CIFAR-10 is not here: widealign data fetch cifar10")


def _name(golden: dict) -> str:
    return "-".join(str(golden[key]) for key in ("rule", "width", "optimizer") if key in golden)


def _lines(out: Path, kind: str) -> list[dict]:
    records = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [record for record in records if record["kind"] == kind]


def _train_cifar(golden: dict, epochs: int, out: Path) -> dict:
    names = ("rule", "width", "lr", "seed", "activation", "parameterization", "optimizer")
    settings = {name: golden[name] for name in names}
    return run(
        RunConfig(task="cifar10", epochs=epochs, data_limit=golden["n_train"], log_steps=True, threads=1, **settings),
        out,
    )


@needs_cifar
@pytest.mark.data
@pytest.mark.parametrize("golden", _CIFAR, ids=_name)
def test_the_first_epoch_is_that_of_the_authors_script(golden, tmp_path):
    result = _train_cifar(golden, 1, tmp_path)
    losses = [line["loss"] for line in _lines(tmp_path, "step")]
    assert losses[:10] == pytest.approx(golden["step_loss"][:10], abs=2e-3 if golden["optimizer"] == "adam" else 2e-4)
    assert result["steps"] == len(losses) == golden["n_train"] // golden["batch"]
    sizes = json.loads((tmp_path / "config.json").read_text())["sizes"]
    assert (sizes["train"], sizes["evaluation"]) == (golden["n_train"], golden["n_eval"])
    # Accuracies near chance: one image in the balance of rounding is 1 / 1500.
    (epoch,) = _lines(tmp_path, "epoch")
    assert epoch["train_acc"] == pytest.approx(golden["train_acc"][0], abs=3 / 1500)
    assert epoch["eval_acc"] == pytest.approx(golden["eval_acc"][0], abs=6 / 1500)


@needs_cifar
@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("golden", _CIFAR, ids=_name)
def test_all_epochs_are_those_of_the_authors_script(golden, tmp_path):
    epochs = len(golden["train_acc"])
    result = _train_cifar(golden, epochs, tmp_path)
    losses = [line["loss"] for line in _lines(tmp_path, "step")]
    assert result["steps"] == len(losses) == len(golden["step_loss"])
    assert losses == pytest.approx(golden["step_loss"], abs=2e-2 if golden["optimizer"] == "adam" else 1e-3)
    for line, train, held_out in zip(_lines(tmp_path, "epoch"), golden["train_acc"], golden["eval_acc"], strict=True):
        assert line["train_acc"] == pytest.approx(train, abs=10 / 1500)
        assert line["eval_acc"] == pytest.approx(held_out, abs=20 / 1500)


@pytest.mark.parametrize("golden", _ADD, ids=_name)
def test_the_add_task_begins_as_runs_that_ended_at_table_8(golden, tmp_path):
    settings = {name: golden[name] for name in ("rule", "width", "lr", "seed")}
    run(RunConfig(task="add", epochs=len(golden["train_loss"]), threads=1, **settings), tmp_path)
    for figure in ("train_loss", "eval_loss"):
        assert [line[figure] for line in _lines(tmp_path, "epoch")] == pytest.approx(golden[figure], rel=1e-3)


def _printed(rule: str, width: int) -> tuple[float, float]:
    table = files("widealign.experiments") / "paper" / "table_8_add_task.csv"
    rows = {row["Scale"]: row for row in csv.DictReader(table.read_text().splitlines())}
    train, test = (float(rows[f"{_TABLE_8[rule]}, {part} loss"][f"x{width}"]) for part in ("Train", "Test"))
    return train, test


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("rule", _TABLE_8)
def test_table_8(rule, width, tmp_path):
    result = run(RunConfig(task="add", rule=rule, width=width, lr=_RATES, epochs=500, threads=1), tmp_path)
    train, test = _printed(rule, width)
    assert result["best"]["train_loss"] == pytest.approx(train, abs=0.002)
    assert result["best"]["eval_loss"] == pytest.approx(test, abs=0.002)
