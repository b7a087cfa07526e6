import json
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widealign.errors import UsageError
from widealign.train.metrics import Metrics, read

pytestmark = pytest.mark.quick


def test_lines_can_be_read_by_others_at_once(tmp_path):
    log = Metrics(tmp_path / "m.jsonl")
    log.write({"kind": "step", "step": 1, "loss": 0.25}, {"kind": "epoch", "epoch": 1, "train_acc": None})
    lines = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    log.close()
    assert lines == [{"kind": "step", "step": 1, "loss": 0.25}, {"kind": "epoch", "epoch": 1, "train_acc": None}]


def test_what_came_after_the_checkpoint_is_cut_off_even_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "m.jsonl"
    log = Metrics(path)
    log.write({"kind": "step", "step": 1})
    position = log.sync()
    log.write({"kind": "step", "step": 2})
    log.close()
    path.write_bytes(path.read_bytes()[:-5])
    log = Metrics(path, position=position)
    log.write({"kind": "step", "step": 3})
    log.close()
    assert [record["step"] for record in read(path, "step")] == [1, 3]


def test_a_file_shorter_than_its_checkpoint_is_an_error(tmp_path):
    (tmp_path / "m.jsonl").write_bytes(b"{}\n")
    with pytest.raises(UsageError, match=r"has 3 bytes where its checkpoint saw 100: it was changed since"):
        Metrics(tmp_path / "m.jsonl", position=100)


def test_a_line_still_being_written_is_passed_over(tmp_path):
    (tmp_path / "m.jsonl").write_bytes(b'{"kind": "epoch", "epoch": 1}\n{"kind": "epo')
    assert [record["epoch"] for record in read(tmp_path / "m.jsonl", "epoch")] == [1]


@given(st.floats())
def test_every_float_gives_valid_json_and_the_finite_ones_come_back_exactly(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("m") / "m.jsonl"
    log = Metrics(path)
    log.write({"kind": "step", "loss": value})
    log.close()
    (record,) = read(path, "step")
    finite = value == value and abs(value) != float("inf")
    assert record["loss"] == (value if finite else None)


def test_a_full_disk_names_the_file_and_does_not_come_again_when_it_is_closed(tmp_path):
    log = Metrics(tmp_path / "metrics.jsonl")
    log.write({"kind": "step"})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        with pytest.raises(OSError, match=r"metrics\.jsonl") as caught:
            log.write({"kind": "step"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.close()
    assert caught.value.filename == str(tmp_path / "metrics.jsonl")
    assert (tmp_path / "metrics.jsonl").stat().st_size == 20
