"""`widealign bench` as a user calls it."""

import json
import re
import subprocess
import sys

import pytest

from widealign import cli
from widealign.bench import measure, run
from widealign.bench.timing import Effort


def call(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", *arguments])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


@pytest.mark.quick
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--network", "resnet"], "resnet"),
        (["--rule", "align-adda"], "There is no rule 'align-adda'.*Did you mean 'align-ada'"),
        (["--width", "0"], "--width must be at least 1; given 0"),
        (["--width", "wide"], "wide"),
        (["--width", "8,x"], "a whole number is needed; given 'x'"),
        (["--network", "transformer", "--width", "6"], "a multiple of 4 for the transformer; given 6"),
        (["--threads", "0", "--batch-size", "1"], "--threads must be at least 1; given 0; --batch-size .* 2; given 1"),
        (["--out", "/nowhere/at/all/bench.json"], "--out must be a file in a folder that exists"),
        (["--mode", "plain"], "--mode"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(arguments, words, capsys):
    code, out, err = call(arguments, capsys)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    assert re.search(words, err), err


def test_a_small_run_prints_a_table_and_writes_rows(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "QUICK", Effort(seconds=0.0, turn=0.0, rounds=(2, 2)))
    out = tmp_path / "bench.json"
    small = ["--quick", "--network", "rnn", "--width", "4", "--batch-size", "3"]
    arguments = [*small, "--rule", "dfa,fa", "--out", str(out)]
    code, printed, err = call(arguments, capsys)
    assert (code, err) == (0, "")
    assert "rnn: the paper's network for the Add task" in printed
    assert "3 rows" in printed
    rows = json.loads(out.read_text())
    assert [row["rule"] for row in rows] == ["normal", "dfa", "fa"]
    assert {(row["width"], row["batch_size"]) for row in rows} == {(4, 3)}


@pytest.mark.parametrize(("freed", "calls"), [("kept", 1), ("returned", 0)])
def test_freed_memory_is_kept_unless_asked_otherwise(freed, calls, capsys, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(measure, "keep_freed_memory", lambda: called.append(freed))
    monkeypatch.setattr(run, "QUICK", Effort(seconds=0.0, turn=0.0, rounds=(2, 2)))
    small = ["--quick", "--network", "mlp", "--width", "4", "--batch-size", "3", "--rule", "last-layer"]
    code, _, _ = call([*small, "--freed", freed, "--out", str(tmp_path / "bench.json")], capsys)
    assert (code, len(called)) == (0, calls)
    assert {row["setting"]["freed"] for row in json.loads((tmp_path / "bench.json").read_text())} == {freed}


@pytest.mark.quick
def test_help_needs_no_torch():
    code = (
        "import sys; from widealign import cli\n"
        "try: cli.main(['bench', '--help'])\n"
        "except SystemExit: sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert "--quick" in done.stdout
