"""A run's folder is trusted only as far as it says what it holds."""

import json
import shutil

import pytest

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train import Options, run
from widealign.train.files import write_atomically

pytestmark = pytest.mark.quick

CONFIG = RunConfig(task="digits", rule="fa", width=8, lr=0.1, epochs=2, threads=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "finished"
    run(CONFIG, folder)
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copied")


@pytest.mark.parametrize("gone", [["config.json"], ["config.json", "result.json"]])
@pytest.mark.parametrize("resume", [False, True])
def test_a_run_without_its_settings_is_nobodys(copied, gone, resume):
    for name in gone:
        (copied / name).unlink()
    with pytest.raises(UsageError, match=r"holds a run without its config\.json"):
        run(CONFIG, copied, Options(resume=resume))


def test_checkpoints_of_other_settings_are_refused(copied, tmp_path):
    other = RunConfig(task="digits", rule="fa", width=8, lr=0.9, epochs=2, threads=1)
    run(other, tmp_path / "other")
    (copied / "result.json").unlink()
    shutil.rmtree(copied / "checkpoints")
    shutil.copytree(tmp_path / "other" / "checkpoints", copied / "checkpoints")
    with pytest.raises(UsageError, match="is of a run with other settings"):
        run(CONFIG, copied, Options(resume=True))


@pytest.mark.parametrize("name", ["config.json", "result.json"])
@pytest.mark.parametrize("content", ["[]", "{}", "3", '{"status": "finished", "best": null}'])
def test_json_of_another_kind_is_damage(copied, name, content):
    (copied / name).write_text(content)
    with pytest.raises(UsageError, match=r"is damaged|other settings"):
        run(CONFIG, copied, Options(resume=True))


@pytest.mark.parametrize("line", [b"garbage\n", b"[]\n", b"3\n", b"\x00\xff\n", b"{}\n", b'{"kind": "epoch"}\n'])
def test_a_damaged_line_of_the_metrics_is_named(copied, line):
    (copied / "result.json").unlink()
    written = (copied / "metrics.jsonl").read_bytes()
    rest = written[written.index(b"\n") + 1 :]
    (copied / "metrics.jsonl").write_bytes(line.rjust(len(written) - len(rest)) + rest)
    with pytest.raises(UsageError, match=r"metrics\.jsonl.* is damaged.*: restore it"):
        run(CONFIG, copied, Options(resume=True))


def test_a_result_without_last_figures_is_damage(copied):
    (copied / "result.json").write_text(json.dumps(json.loads((copied / "result.json").read_text()) | {"last": {}}))
    with pytest.raises(UsageError, match=r"result\.json is damaged, it has no last train_loss"):
        run(CONFIG, copied, Options(resume=True))


def test_a_run_that_has_not_begun_needs_no_resume(copied):
    (copied / "result.json").unlink()
    shutil.rmtree(copied / "checkpoints")
    (copied / "metrics.jsonl").write_bytes(b"")
    assert run(CONFIG, copied)["status"] == "finished"


def test_a_run_whose_checkpoints_are_lost_says_that_it_begins_again(copied, finished, caplog):
    (copied / "result.json").unlink()
    shutil.rmtree(copied / "checkpoints")
    run(CONFIG, copied, Options(resume=True))
    assert "has no whole checkpoint: the run begins again" in caplog.text
    assert (copied / "metrics.jsonl").read_bytes() == (finished / "metrics.jsonl").read_bytes()
    results = [json.loads((folder / "result.json").read_text()) for folder in (copied, finished)]
    assert results[0]["best"] == results[1]["best"]


def test_a_full_disk_is_not_kept_full(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "state.pt", b"content")
    assert list(tmp_path.iterdir()) == []
