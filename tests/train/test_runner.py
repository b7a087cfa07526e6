import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import widealign
from widealign import rules
from widealign.config import RunConfig
from widealign.errors import DataError, UsageError
from widealign.train import Interrupted, Options, checkpoint, locked, run, runner
from widealign.train.interrupt import Stop

_CONFIG = RunConfig(task="digits", rule="align-ada", width=16, lr=0.5, epochs=2, log_steps=True, threads=1)
_QUICK = pytest.mark.quick


def _lines(out, kind):
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [record for record in records if record["kind"] == kind]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("finished")
    run(_CONFIG, out)
    return out


@_QUICK
def test_the_folder_tells_everything(finished):
    config = json.loads((finished / "config.json").read_text())
    settings = {
        name: config[name] for name in ("task", "rule", "width", "lr", "seed", "batch_size", "threads", "device")
    }
    assert settings == {
        "task": "digits", "rule": "align-ada", "width": 16, "lr": 0.5, "seed": 99, "batch_size": 100, "threads": 1,
        "device": "cpu",
    }  # fmt: skip
    assert config["versions"]["torch"] == torch.__version__
    assert config["versions"]["numpy"] == np.__version__
    assert config["versions"]["widealign"] == widealign.__version__
    assert config["sizes"] == {"train": 1000, "validation": 0, "evaluation": 200, "steps_per_epoch": 10}
    assert len(config["split"]) == 16
    assert "commit" in config


@_QUICK
def test_metrics_and_result(finished):
    steps, epochs = _lines(finished, "step"), _lines(finished, "epoch")
    assert [line["step"] for line in steps] == list(range(1, 21))
    assert [line["epoch"] for line in epochs] == [1, 2]
    for line, ten in zip(epochs, (steps[:10], steps[10:]), strict=True):
        assert line["train_loss"] == pytest.approx(np.mean([step["loss"] for step in ten]))
        assert 0 <= line["train_acc"] <= 1
        assert (line["eval_acc"] * 200) % 1 == pytest.approx(0, abs=1e-9)
    result = json.loads((finished / "result.json").read_text())
    assert (result["status"], result["epochs"], result["steps"]) == ("finished", 2, 20)
    assert result["best"]["eval_acc"] == max(line["eval_acc"] for line in epochs)
    assert result["best"]["train_loss"] == min(line["train_loss"] for line in epochs)
    assert result["last"]["train_loss"] == epochs[-1]["train_loss"]
    assert result["seconds"] > 0


@_QUICK
def test_a_finished_folder_with_the_same_settings_is_left_as_it_is(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*.json*")}
    assert run(_CONFIG, finished)["steps"] == 20
    assert run(replace(_CONFIG, threads=None), finished)["steps"] == 20  # left open: as it was
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*.json*")} == before


@_QUICK
@pytest.mark.parametrize("change", [{"lr": 0.25}, {"epochs": 3}, {"threads": 2}])
def test_other_settings_are_an_error_that_names_them(finished, change):
    ((name, value),) = change.items()
    with pytest.raises(UsageError, match=rf"other settings: {name} is .* there and {value} here\. Give the same"):
        run(replace(_CONFIG, **change), finished, Options(resume=True))


@_QUICK
def test_a_second_process_is_refused(tmp_path):
    with locked(tmp_path), pytest.raises(UsageError, match="is in use by process"):
        run(_CONFIG, tmp_path)


def test_the_same_settings_give_the_same_bytes_whatever_ran_before(tmp_path, finished):
    torch.manual_seed(1)
    torch.rand(10)
    np.random.seed(0)
    before = torch.get_rng_state()
    run(_CONFIG, tmp_path)
    assert (tmp_path / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()
    assert torch.equal(torch.get_rng_state(), before)


def test_without_step_lines_the_numbers_are_the_same(tmp_path, finished):
    run(replace(_CONFIG, log_steps=False), tmp_path)
    assert _lines(tmp_path, "step") == []
    assert _lines(tmp_path, "epoch") == _lines(finished, "epoch")


class _StopsAfter(Stop):
    def __init__(self, calls: int):
        super().__init__()
        self.calls = calls

    def __call__(self) -> bool:
        self.calls -= 1
        return self.calls < 0


def _interrupted(monkeypatch, out, calls):
    from contextlib import contextmanager

    @contextmanager
    def stopping():
        yield _StopsAfter(calls)

    monkeypatch.setattr(runner, "stop_on_signals", stopping)
    with pytest.raises(Interrupted) as caught:
        run(_CONFIG, out)
    monkeypatch.undo()
    return caught.value


def test_an_unfinished_folder_needs_resume_and_then_ends_the_same(tmp_path, finished, monkeypatch):
    error = _interrupted(monkeypatch, tmp_path, calls=20)
    assert error.exit_code == 130
    assert "the same command with --resume" in str(error)
    with pytest.raises(UsageError, match="holds an unfinished run: give --resume to go on with it"):
        run(_CONFIG, tmp_path)
    run(_CONFIG, tmp_path, Options(resume=True))
    assert (tmp_path / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()


def test_resume_of_nothing_begins_and_a_damaged_checkpoint_goes_back_further(tmp_path, finished, monkeypatch, caplog):
    _interrupted(monkeypatch, tmp_path, calls=30)
    newest = max((tmp_path / "checkpoints").glob("*.pt"))
    newest.write_bytes(newest.read_bytes()[:-100])
    run(_CONFIG, tmp_path, Options(resume=True))
    assert f"{newest.name} is damaged" in caplog.text
    assert (tmp_path / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()
    run(_CONFIG, tmp_path / "new", Options(resume=True))
    assert (tmp_path / "new" / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()


def test_data_that_changed_between_two_parts_of_a_run_are_an_error(tmp_path, monkeypatch):
    _interrupted(monkeypatch, tmp_path, calls=20)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "split": "0" * 16}))
    with pytest.raises(UsageError, match="the data are not those that the run"):
        run(_CONFIG, tmp_path, Options(resume=True))


def test_divergence_is_a_result_with_the_best_before(tmp_path):
    config = replace(_CONFIG, rule="normal", lr=60.0, epochs=30)
    result = run(config, tmp_path)
    epochs = _lines(tmp_path, "epoch")
    assert result == json.loads((tmp_path / "result.json").read_text())
    assert result["status"] == "diverged"
    assert result["epoch"] == len(epochs) + 1
    assert result["diverged"]["rule"] == "normal"
    assert result["diverged"]["layer"]
    assert result["diverged"]["step"] == result["steps"]
    if epochs:
        assert result["best"]["eval_acc"] == max(line["eval_acc"] for line in epochs)
    assert len(_lines(tmp_path, "step")) == result["steps"]
    assert run(config, tmp_path) == result


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam", "lr": 0.01},
        {"optimizer": "adamw", "lr": 0.01, "schedule": "cosine", "protocol": "sound"},
        {"loss": "cross-entropy", "schedule": "linear"},
        {"precision": "bf16"},
    ],
)
def test_other_ways_to_train_learn_too(tmp_path, settings):
    result = run(replace(_CONFIG, **{"rule": "normal", "width": 64, "epochs": 6, "lr": 1.0} | settings), tmp_path)
    assert result["last"]["train_loss"] < _lines(tmp_path, "epoch")[0]["train_loss"]
    assert result["best"]["eval_acc"] > 0.15


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, from inside torch.compile
@pytest.mark.parametrize("rule", ["normal", "align-ada"])
def test_a_compiled_learner_trains_as_the_eager_one(tmp_path, rule):
    config = replace(_CONFIG, rule=rule, data_limit=300)
    eager, compiled = (
        run(replace(config, compile=compile), tmp_path / str(compile))["last"] for compile in (False, True)
    )
    assert compiled["train_loss"] == pytest.approx(eager["train_loss"], rel=1e-3)


@pytest.mark.parametrize("rule", rules.names())
@pytest.mark.parametrize("protocol", ["paper", "sound"])
def test_every_rule_trains_under_both_protocols(tmp_path, rule, protocol):
    result = run(replace(_CONFIG, rule=rule, protocol=protocol, epochs=1, data_limit=200), tmp_path)
    assert (result["status"], result["steps"]) == ("finished", 2)


@_QUICK
def test_observers_write_their_lines(tmp_path):
    class Watcher:
        def __init__(self, trial):
            self.steps = 0

        def before_update(self, batch, output):
            self.steps += 1

        def records(self, epoch):
            return [{"kind": "alignment", "epoch": epoch, "layer": 1, "score": float(self.steps)}]

        def state_dict(self):
            return {"steps": self.steps}

        def load_state_dict(self, state):
            self.steps = state["steps"]

    run(replace(_CONFIG, data_limit=200), tmp_path, observers=lambda trial: [Watcher(trial)])
    assert [line["score"] for line in _lines(tmp_path, "alignment")] == [2.0, 4.0]


def test_after_a_power_failure_the_newest_checkpoint_whose_metrics_are_there_counts(tmp_path, finished, monkeypatch):
    _interrupted(monkeypatch, tmp_path, calls=30)
    newest, before = checkpoint.load_all(tmp_path / "checkpoints")
    log = tmp_path / "metrics.jsonl"
    assert before["metrics"] < newest["metrics"] == log.stat().st_size
    log.write_bytes(log.read_bytes()[: newest["metrics"] - 1])
    run(_CONFIG, tmp_path, Options(resume=True))
    assert log.read_bytes() == (finished / "metrics.jsonl").read_bytes()


def test_metrics_that_were_cut_by_hand_are_an_error(tmp_path, monkeypatch):
    _interrupted(monkeypatch, tmp_path, calls=30)
    (tmp_path / "metrics.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match="0 bytes where its checkpoint saw"):
        run(_CONFIG, tmp_path, Options(resume=True))


def test_small_epochs_do_not_each_wait_for_the_disk_but_the_last_one_does(tmp_path, monkeypatch):
    saved = []
    save = checkpoint.save

    def watched(folder, state, **options):
        saved.append((state["loop"]["epoch"], options["durable"]))
        return save(folder, state, **options)

    monkeypatch.setattr(checkpoint, "save", watched)
    monkeypatch.setattr(runner, "_DURABLE_SECONDS", 3600.0)
    run(replace(_CONFIG, epochs=5), tmp_path)
    assert saved == [(1, True), (2, False), (3, False), (4, False), (5, True)]


@_QUICK
@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_checkpoint_seconds_are_a_time_span(seconds):
    with pytest.raises(UsageError, match="--checkpoint-seconds must be 0 or more; given"):
        Options(checkpoint_seconds=seconds)


@_QUICK
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data_limit": 10**9}, "1000000000 training examples or more are needed"),
        ({"batch_size": 5000}, "a batch holds 5000 examples, but only 1000 train"),
        ({"rule_options": {"refresh": "often"}}, "--rule-option refresh='often' does not suit align-ada: "),
        ({"rule_options": {"refresh": "often"}, "protocol": "sound"}, "--rule-option refresh='often' does not suit"),
        ({"rule_options": {"speed": 1}}, "has no option speed; its options are"),
    ],
)
def test_what_cannot_begin_leaves_nothing_behind(tmp_path, settings, message):
    with pytest.raises(UsageError if "data_limit" not in settings else DataError, match=message):
        run(replace(_CONFIG, **settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()
