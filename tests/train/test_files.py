import contextlib
import fcntl
import os
import subprocess
import sys

import pytest

from widealign.errors import UsageError
from widealign.sweep.store import held
from widealign.train import locked, read_json, write_json
from widealign.train.files import write_atomically

pytestmark = pytest.mark.quick

_HOLD = "import sys; from pathlib import Path; from widealign.train import locked\nwith locked(Path(sys.argv[1])): {}"


def test_a_second_process_is_refused_while_the_first_lives_and_let_in_when_it_was_killed(tmp_path):
    code = _HOLD.format("print('held', flush=True); sys.stdin.read()")
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=f"in use by process {holder.pid}: wait for it to end"), locked(tmp_path):
            pass
        holder.kill()
        holder.wait()
        with locked(tmp_path):
            pass


def test_a_writer_that_fails_leaves_the_old_content(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(path, {"a": float("nan")})
    assert read_json(path) == {"a": 1}


def test_the_file_appears_by_renaming(tmp_path, monkeypatch):
    path = tmp_path / "x"
    seen = []
    monkeypatch.setattr("os.fsync", lambda descriptor: seen.append(path.exists()))
    write_atomically(path, b"content")
    assert seen[0] is False  # the content was on the disk before the name was
    assert path.read_bytes() == b"content"
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_json_names_the_file_and_a_remedy(tmp_path):
    (tmp_path / "config.json").write_text('{"a": ')
    with pytest.raises(UsageError, match=r"config\.json is damaged .* restore it"):
        read_json(tmp_path / "config.json")
    assert read_json(tmp_path / "absent.json") is None


@pytest.mark.parametrize("where", ["a file", "below a file"])
def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path, where):
    (tmp_path / "file").write_text("content")
    out = tmp_path / "file" if where == "a file" else tmp_path / "file" / "run"
    with pytest.raises(UsageError, match=r"cannot be the folder of a run \(.+\): give one that"), locked(out):
        pass
    assert (tmp_path / "file").read_text() == "content"


def test_an_error_leaves_no_folder_behind_unless_something_was_written_or_it_was_there(tmp_path):
    def fails(folder, *, writes=False):
        with contextlib.suppress(UsageError), locked(folder):
            if writes:
                (folder / "metrics.jsonl").touch()
            raise UsageError("no")

    fails(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    (tmp_path / "there").mkdir()
    fails(tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []
    fails(tmp_path / "begun", writes=True)
    assert {path.name for path in (tmp_path / "begun").iterdir()} == {"lock", "metrics.jsonl"}


def test_a_lock_that_was_removed_in_between_is_not_trusted(tmp_path, monkeypatch):
    flock, stale = fcntl.flock, []

    def late(file, operation):
        if not stale:  # as if its last owner had removed it after it was opened here
            stale.append(file)
            (tmp_path / "lock").unlink()
        flock(file, operation)

    monkeypatch.setattr("fcntl.flock", late)
    with locked(tmp_path):
        assert stale[0].closed
        with pytest.raises(UsageError, match="in use by process"), locked(tmp_path):
            pass


@pytest.mark.parametrize("lock", [locked, held])
def test_a_forked_child_does_not_hold_the_folder(tmp_path, lock):
    reading, writing = os.pipe()
    ready, is_ready = os.pipe()
    with lock(tmp_path / "run"):
        child = os.fork()
        if not child:  # lives on after the lock's owner is done with it
            os.write(is_ready, b".")
            os.read(reading, 1)
            os._exit(0)
        os.read(ready, 1)
    try:
        with lock(tmp_path / "run") as mine:
            assert mine is not False
    finally:
        os.write(writing, b".")
        os.waitpid(child, 0)
