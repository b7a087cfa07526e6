import json
from dataclasses import replace

import pytest

from widealign.config import RunConfig
from widealign.errors import DataError, UsageError
from widealign.train.grid import _chosen, run_grid

_CONFIG = RunConfig(task="digits", rule="normal", width=16, lr=1.0, epochs=2, data_limit=300, threads=1)


def test_each_rate_has_its_folder_and_the_best_one_is_chosen(tmp_path):
    result = run_grid(_CONFIG, (0.001, 2.0), tmp_path)
    singles = {rate: json.loads((tmp_path / f"lr-{rate}" / "result.json").read_text()) for rate in ("0.001", "2")}
    accuracies = {rate: single["best"]["eval_acc"] for rate, single in singles.items()}
    winner = max(accuracies, key=accuracies.get)
    assert accuracies["2"] != accuracies["0.001"]
    assert result["folder"] == f"lr-{winner}"
    assert result["best"] == singles[winner]["best"]
    assert [row["folder"] for row in result["grid"]] == ["lr-0.001", "lr-2"]
    assert json.loads((tmp_path / "result.json").read_text()) == result
    assert json.loads((tmp_path / "config.json").read_text())["lr"] == [0.001, 2.0]
    assert run_grid(_CONFIG, (0.001, 2.0), tmp_path) == result
    with pytest.raises(UsageError, match=r"lr is \[0\.001, 2\.0\] there and \[0\.001, 5\.0\] here"):
        run_grid(_CONFIG, (0.001, 5.0), tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(UsageError, match=r"result\.json is damaged, it has no status, best"):
        run_grid(_CONFIG, (0.001, 2.0), tmp_path)


def _result(lr, figure, value, status="finished"):
    best = {} if value is None else {figure: value}
    chosen_by = {"figure": figure, "better": "high"}
    return {"lr": lr, "status": status, "best": best, "last": best, "epochs": 1, "steps": 1, "seconds": 1.0,
            "chosen_by": chosen_by}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize(
    ("figure", "values", "winner"),
    [
        ("eval_acc", (0.1, 0.3, 0.2), 1),
        ("eval_loss", (0.1, 0.3, 0.2), 0),
        ("val_acc", (0.2, 0.2, 0.1), 0),
        ("val_acc", (None, 0.1, 0.2), 2),
        ("val_acc", (None, None, None), 0),
    ],
)
def test_the_choice(figure, values, winner):
    results = [_result(lr, figure, value) for lr, value in enumerate(values)]
    chosen = _chosen(results, ["a", "b", "c"])
    assert (chosen["lr"], chosen["folder"], chosen["seconds"]) == (winner, "abc"[winner], 3.0)


@pytest.mark.quick
def test_a_rate_that_is_named_twice(tmp_path):
    with pytest.raises(UsageError, match="must name each learning rate once; given 1, 2, 1"):
        run_grid(_CONFIG, (1.0, 2.0, 1.0), tmp_path)


def test_a_grid_that_cannot_begin_can_be_corrected(tmp_path):
    with pytest.raises(DataError, match="1000000000 training examples"):
        run_grid(replace(_CONFIG, data_limit=10**9), (0.1, 1.0), tmp_path / "grid")
    assert not (tmp_path / "grid").exists()


def test_rates_that_are_nearly_equal_have_folders_of_their_own_and_settings_are_resolved(tmp_path):
    result = run_grid(replace(_CONFIG, epochs=1, threads=None), (1.0, 1.0000001), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["lr"], config["device"]) == ([1.0, 1.0000001], "cpu")
    assert config["threads"] >= 1
    assert [one["folder"] for one in result["grid"]] == ["lr-1", "lr-1.0000001"]
