import logging

import pytest
import torch

from widealign.train import checkpoint

pytestmark = pytest.mark.quick


def _state(number: int) -> dict:
    return {"number": number, "tensor": torch.full((100,), float(number)), "nested": {"none": None, "list": [1, 2]}}


def test_the_newest_comes_back(tmp_path):
    assert checkpoint.load_newest(tmp_path / "absent") is None
    for number in range(12):
        checkpoint.save(tmp_path, _state(number))
    loaded = checkpoint.load_newest(tmp_path)
    assert loaded["number"] == 11
    assert torch.equal(loaded["tensor"], torch.full((100,), 11.0))
    assert loaded["nested"] == {"none": None, "list": [1, 2]}


def test_two_are_kept_and_a_dead_writers_temporary_file_is_removed(tmp_path):
    (tmp_path / "00000001-abc.pt.tmp").write_bytes(b"half")
    paths = [checkpoint.save(tmp_path, _state(number)) for number in range(3)]
    assert sorted(tmp_path.iterdir()) == sorted(paths[1:])


@pytest.mark.parametrize("damage", ["one bit", "cut short", "empty"])
def test_a_damaged_newest_is_named_and_the_one_before_is_taken(tmp_path, caplog, damage):
    checkpoint.save(tmp_path, _state(1))
    newest = checkpoint.save(tmp_path, _state(2))
    content = bytearray(newest.read_bytes())
    if damage == "one bit":
        content[len(content) // 2] ^= 1
    newest.write_bytes({"one bit": content, "cut short": content[:-10], "empty": b""}[damage])
    with caplog.at_level(logging.WARNING):
        assert checkpoint.load_newest(tmp_path)["number"] == 1
    assert newest.name in caplog.text
    assert "is damaged" in caplog.text
    checkpoint.save(tmp_path, _state(3))
    assert checkpoint.load_newest(tmp_path)["number"] == 3


def test_a_half_written_temporary_file_is_never_loaded(tmp_path):
    checkpoint.save(tmp_path, _state(1))
    (tmp_path / "00000002-0123456789abcdef0123456789abcdef.pt.tmp").write_bytes(b"half")
    assert checkpoint.load_newest(tmp_path)["number"] == 1


def test_objects_that_would_need_pickle_are_refused_at_loading(tmp_path):
    checkpoint.save(tmp_path, {"path": tmp_path})
    with pytest.raises(Exception, match="weights_only"):
        checkpoint.load_newest(tmp_path)


def test_the_last_durable_one_stays_and_only_it_waits_for_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", synced.append)
    durable = checkpoint.save(tmp_path, _state(0))
    waited = len(synced)
    paths = [checkpoint.save(tmp_path, _state(number), durable=False, keep=durable) for number in range(1, 5)]
    assert waited > 0
    assert len(synced) == waited
    assert sorted(tmp_path.iterdir()) == [durable, *paths[-2:]]
    assert [state["number"] for state in checkpoint.load_all(tmp_path)] == [4, 3, 0]
