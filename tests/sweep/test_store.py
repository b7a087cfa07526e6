"""What a store says about its folders: finished, damaged and how, unfinished, packed."""

import gzip
import json

import pytest

from widealign.errors import UsageError
from widealign.sweep.pack import SUFFIX, read_packs, write_pack
from widealign.sweep.store import Store, held

pytestmark = pytest.mark.quick


@pytest.fixture
def finished(tmp_path, make):
    """Writes a finished run as a worker would."""
    from fake_training import perform

    from widealign.sweep.jobs import to_json

    def write(**settings):
        job = make(**settings)
        folder = tmp_path / job.id
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(json.dumps(to_json(job)))
        perform(job, folder, None)
        return folder

    return write


def test_finished_runs_are_found_by_id_and_by_family(tmp_path, finished, make):
    finished(seed=1)
    finished(seed=2)
    finished(seed=1, lr=2.0)
    contents = Store(tmp_path).read()
    assert len(contents.finished) == 3
    assert set(contents.seeds_of(make(seed=7))) == {1, 2}
    assert set(contents.seeds_of(make(lr=2.0))) == {1}
    assert contents.seeds_of(make(lr=3.0)) == {}


def test_an_absent_store_is_empty(tmp_path):
    contents = Store(tmp_path / "none").read()
    assert not contents.finished
    assert not contents.damaged


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        Store(tmp_path / "file")


def test_a_folder_without_a_result_is_unfinished(tmp_path, finished):
    folder = finished()
    (folder / "result.json").unlink()
    assert Store(tmp_path).read().unfinished == {folder.name}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("result.json", '{"status": "fini', "result.json is not whole JSON"),
        ("result.json", '{"seconds": 1}', "result.json lacks status"),
        ("result.json", "[]", "result.json lacks status"),
        ("job.json", "", "job.json is not whole JSON"),
        ("job.json", None, "job.json is missing"),
        ("config.json", None, "config.json is missing"),
        ("metrics.jsonl", None, "metrics.jsonl is missing"),
        ("metrics.jsonl", '{"kind": "epoch"}\n{"kind": "ep', "metrics.jsonl, line 2, is not whole JSON"),
        ("metrics.jsonl", '{"kind": "epoch"}\n', "metrics.jsonl has 1 epochs, result.json speaks of 2"),
        ("metrics.jsonl", "3\n", "has no kind"),
    ],
)
def test_damage_is_named(tmp_path, finished, name, content, what):
    folder = finished()
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    contents = Store(tmp_path).read()
    assert what in contents.damaged[folder.name]
    assert not contents.finished


@pytest.mark.parametrize("settings", [{"alignment": True}, {"log_steps": True}])
def test_lines_that_were_asked_for_must_be_there(tmp_path, finished, settings):
    folder = finished(**settings)
    assert "which job.json asks for" in Store(tmp_path).read().damaged[folder.name]


def test_a_folder_that_holds_another_run_is_damaged(tmp_path, finished):
    one, other = finished(), finished(lr=2.0)
    (one / "job.json").write_bytes((other / "job.json").read_bytes())
    assert "another run" in Store(tmp_path).read().damaged[one.name]


def test_settings_that_were_edited_are_damage(tmp_path, finished):
    folder = finished()
    job = json.loads((folder / "job.json").read_text())
    job["settings"]["lr"] = 3.0
    (folder / "job.json").write_text(json.dumps(job))
    assert "have the id" in Store(tmp_path).read().damaged[folder.name]


def test_set_aside_keeps_every_copy(tmp_path, finished, make):
    store = Store(tmp_path)
    places = []
    for _ in range(2):
        folder = finished()
        places.append(store.set_aside(make()))
        assert not folder.exists()
    assert [place.name[-2:] for place in places] == ["-1", "-2"]
    assert all((place / "result.json").exists() for place in places)


def test_set_aside_refuses_a_folder_in_use(tmp_path, finished, make):
    with held(finished()) as mine:
        assert mine
        assert Store(tmp_path).set_aside(make()) is None


def test_a_pack_reads_like_the_folders_it_came_from(tmp_path, finished, make):
    for seed in (1, 2):
        finished(seed=seed)
    before = Store(tmp_path).read().finished
    target = tmp_path / "packs" / f"two{SUFFIX}"
    target.parent.mkdir()
    assert write_pack(target, before.values()) == 2
    after = Store(target.parent).read().finished
    assert set(after) == set(before)
    for name, record in after.items():
        assert record.job == before[name].job
        assert record.result == before[name].result
        assert record.origin["versions"] == {"fake": "1"}


def test_equal_runs_pack_to_equal_bytes(tmp_path, finished):
    finished(seed=1)
    finished(seed=2)
    records = list(Store(tmp_path).read().finished.values())
    write_pack(tmp_path / "a", records)
    write_pack(tmp_path / "b", reversed(records))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("content", [b"not gzip", gzip.compress(b'{"id"', mtime=0), gzip.compress(b"{}\n", mtime=0)])
def test_a_pack_that_cannot_be_read_is_named(tmp_path, content):
    (tmp_path / f"bad{SUFFIX}").write_bytes(content)
    finished, damaged = read_packs(tmp_path)
    assert not finished
    assert "cannot be read" in damaged[f"bad{SUFFIX}"]


def test_a_folder_wins_over_a_damaged_copy_in_a_pack(tmp_path, finished):
    folder = finished()
    records = Store(tmp_path).read().finished.values()
    write_pack(tmp_path / f"kept{SUFFIX}", records)
    (folder / "result.json").write_text("{")
    contents = Store(tmp_path).read()
    assert folder.name in contents.finished
    assert folder.name not in contents.damaged
