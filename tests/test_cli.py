"""The command line as a stranger meets it: clear words, exit codes, no tracebacks."""

import re

import pytest

from widealign import cli

pytestmark = pytest.mark.quick


def call(arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments.split())
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def test_help_lists_every_command(capsys):
    code, out, _ = call("--help", capsys)
    assert code == 0
    for command in ("align", "bench", "data", "demo", "list", "report", "reproduce", "runs", "train"):
        assert command in out


@pytest.mark.parametrize(
    "command",
    ["train", "align", "list", "reproduce", "runs", "report", "bench", "data", "data fetch", "data verify", "demo"],
)
def test_every_command_has_help(command, capsys):
    code, out, err = call(f"{command} --help", capsys)
    assert (code, err) == (0, "")
    assert f"widealign {command}" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("trian digits", "no command 'trian'; the commands are train, .*Did you mean 'train'"),
        ("data fech cifar10", "no command 'fech'; the commands are fetch, verify"),
        ("train digits --wdth 8 --out x", "Unknown option: --wdth"),
        ("train nothing --out x", "nothing"),
        ("train digits --rule nope --width 8 --lr 1 --seed 1 --epochs 1 --out x", "'nope'"),
        ("train digits --width 0 --lr -1 --out x", "width.*lr|lr.*width"),
        ("reproduce table-99", "table-99"),
        ("reproduce table-8 --only width=9999", "leaves no run of table-8 at smoke scale.*--dry-run"),
        ("reproduce table-8 --store /dev/null/store", "/dev/null/store.*: Not a directory"),
        ("reproduce table-8 --store /dev/null", "must be a folder; /dev/null is a file"),
        ("runs --store nowhere", "There is no store at nowhere"),
        ("report --store nowhere", "There is no store at nowhere"),
        ("runs --store . --pack nowhere/pack", "--pack must be a file in a folder that exists"),
        ("runs --store . --status lost", "--status must be finished, .*'lost'"),
        ("data verify kmnist --data-dir /nowhere/at/all", "train-images-idx3-ubyte.gz.*/nowhere/at/all"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/nowhere/at/home")
    monkeypatch.delenv("WIDEALIGN_DATA", raising=False)
    code, _, err = call(arguments, capsys)
    assert code == 2
    assert re.search(words, err, flags=re.DOTALL), err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
