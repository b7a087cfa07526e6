import subprocess
import sys

import pytest

from widealign.errors import UsageError
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
    with pytest.raises(UsageError, match=r"config\.json is damaged .* delete it"):
        read_json(tmp_path / "config.json")
    assert read_json(tmp_path / "absent.json") is None
