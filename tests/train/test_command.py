import errno
import json
import os
import subprocess
import sys

import pytest

from widealign.cli import main

_TRAIN = ["train", "digits", "--width", "16", "--data-limit", "300", "--threads", "1"]
_TWO = [*_TRAIN, "--epochs", "2"]


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


_OPTIONS = """rule width lr seed epochs data-limit activation parameterization optimizer protocol batch-size data-dir
device log-steps resume out momentum weight-decay schedule loss precision compile threads tensorboard checkpoint-seconds
allow-unverified"""
_HELP_WITHOUT_TORCH = """
import sys
from widealign.cli import main
try:
    main(["train", "--help"])
except SystemExit as end:
    sys.exit(end.code or ("torch was imported" if "torch" in sys.modules else 0))
"""


def test_help_shows_every_option_without_torch():
    done = subprocess.run([sys.executable, "-c", _HELP_WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for option in _OPTIONS.split():
        assert f"--{option}" in done.stdout


def test_a_run_ends_with_one_line_and_exit_code_0(tmp_path, capsys):
    assert _run(*_TWO, "--rule", "align-ada", "--lr", 0.5, "--log-steps", "--out", tmp_path) == 0
    out, err = capsys.readouterr()
    assert out.startswith("finished: 2 epochs, 6 steps, best train_loss 0.")
    assert len(out.splitlines()) == 1
    assert err == ""
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["task"], config["rule"], config["lr"], config["log_steps"]) == ("digits", "align-ada", 0.5, True)


def test_a_grid_ends_with_the_choice(tmp_path, capsys):
    assert _run(*_TWO, "--lr", "0.1,1", "--out", tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"lr-0.1", "lr-1", "result.json", "config.json"}
    assert capsys.readouterr().out.startswith("finished: ")


def test_divergence_exits_with_3_and_says_where(tmp_path, capsys):
    assert _run(*_TRAIN, "--lr", 1e6, "--epochs", 20, "--out", tmp_path) == 3
    err = capsys.readouterr().err
    assert "training diverged: the " in err
    assert ", rule normal, layer " in err
    assert "lr was 1e+06, try a smaller one" in err
    assert json.loads((tmp_path / "result.json").read_text())["status"] == "diverged"
    assert _run(*_TRAIN, "--lr", 1e6, "--epochs", 20, "--out", tmp_path) == 3  # still so


@pytest.mark.quick
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "backprop"], "--rule must be one of normal, "),
        (["--lr", "fast"], "--lr: a number is needed, or several as 1,2,5; given 'fast'."),
        (["--lr", "1,,2"], "--lr: a number is needed, or several as 1,2,5; given '1,,2'."),
        (["--checkpoint-seconds", "nan"], "--checkpoint-seconds must be 0 or more; given nan"),
        (
            ["--rule", "fa", "--rule-option", "feedback=3"],
            "--rule-option feedback=3: the paper protocol decides feedback; leave it out",
        ),
        (["--data-limit", "1000000000"], "1000000000 training examples or more are needed"),
        (["--width", "0", "--epochs", "0"], "--epochs must be at least 1; given 0"),
        (["--rule-option", "refresh"], "--rule-option must be NAME=VALUE, as refresh=100; given 'refresh'"),
        (["--rule", "align-ada", "--rule-option", "speed=1"], "has no option speed; its options are"),
        (["--lr", "1,1"], "--lr must name each learning rate once; given 1, 1"),
    ],
)
def test_what_cannot_be_meant_exits_with_2_and_one_message(tmp_path, capsys, arguments, message):
    assert _run("train", "digits", *arguments, "--out", tmp_path / "run") == 2
    err = capsys.readouterr().err
    assert message in " ".join(err.split())
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_rule_options_reach_the_rule(tmp_path):
    assert _run(*_TWO, "--rule", "align-ada", "--rule-option", "refresh=1", "--out", tmp_path / "refreshed") == 0
    assert _run(*_TWO, "--rule", "normal", "--out", tmp_path / "normal") == 0
    refreshed, normal = (
        json.loads((tmp_path / name / "result.json").read_text())["last"]["train_loss"]
        for name in ("refreshed", "normal")
    )
    assert refreshed == pytest.approx(normal, rel=1e-4)  # a snapshot before every step is backpropagation


def test_tensorboard_gets_the_figures(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert _run(*_TWO, "--tensorboard", "--out", tmp_path) == 0
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    epochs = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    written = [(scalar.step, scalar.value) for scalar in events.Scalars("train_loss")]
    assert written == [(line["epoch"], pytest.approx(line["train_loss"])) for line in epochs]


def test_align_diverges_with_the_same_sentence(tmp_path, capsys):
    arguments = [*_TRAIN[1:], "--lr", 1e9, "--epochs", 3, "--out", tmp_path]
    assert _run("align", *arguments) == 3
    assert ", rule normal, layer " in capsys.readouterr().err


def test_without_out_the_folder_is_named_after_the_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in ("train", "align"):
        assert _run(command, *_TWO[1:], "--lr", 0.5) == 0
    assert len({path.name for path in (tmp_path / "runs").glob("digits-normal-width-16-lr-0.5-*")}) == 2


@pytest.mark.parametrize("name", ["metrics.jsonl", "config.json"])
def test_a_full_disk_is_one_message_that_names_the_file(tmp_path, monkeypatch, capsys, name):
    def full(descriptor):
        if name in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert _run(*_TWO, "--lr", 0.5, "--out", tmp_path) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path / name}: No space left on device" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--width", "--epochs", "--seed", "--data-limit", "--batch-size", "--threads"])
def test_whole_numbers_are_not_rounded(tmp_path, capsys, option):
    assert _run("train", "digits", option, "8.5", "--out", tmp_path / "out") == 2
    assert "a whole number is needed; given '8.5'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "--rule", "last-layer", "--rule-option", "foo=1"], "foo"),
        (
            ["digits", "--rule", "fa", "--protocol", "sound", "--rule-option", "seed=abc"],
            "seed= must be a whole number",
        ),
        (["digits", "--rule", "align-ada", "--rule-option", "refresh=2.5"], "refresh= is a whole number"),
        (["digits", "--rule", "fa", "--rule-option", "sites=1"], "sites can be set in Python only"),
        (["digits", "--lr", "1", "--lr", "2"], "given more than once"),
        (["digits", "--width", "999999999", "--lr", "1"], "not enough memory"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(tmp_path, capsys, arguments, words):
    assert _run("train", *arguments, "--width" if "--width" not in arguments else "--epochs", 8,
                "--out", tmp_path / "out") == 2  # fmt: skip
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_a_few_sequences_of_the_add_task_are_a_batch(tmp_path):
    assert _run("train", "add", "--width", 8, "--epochs", 1, "--data-limit", 20, "--out", tmp_path) == 0
