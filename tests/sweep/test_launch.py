"""One job, one process: its ends, its deaths, its lock."""

import threading

import pytest

from widealign.sweep.store import Store, held, read_failure


def starts(launcher, job) -> int:
    log = launcher.store / "starts.txt"
    return log.read_text().split().count(job.id) if log.exists() else 0


def test_a_finished_run_can_be_read_back(launcher, make):
    assert launcher(make()).status == "finished"
    record = Store(launcher.store).read().finished[make().id]
    assert record.job == make()
    assert len(record.lines("epoch")) == 2


def test_a_worker_that_dies_twice_goes_on_from_its_checkpoint(launcher, make):
    job = make(epochs=4, die=2)
    outcome = launcher(job)
    assert outcome.status == "finished"
    assert [note for note in outcome.notes if "SIGKILL" in note] == list(outcome.notes)
    assert starts(launcher, job) == 3
    record = Store(launcher.store).read().finished[job.id]
    assert [line["epoch"] for line in record.lines("epoch")] == [1, 2, 3, 4]


def test_a_worker_that_dies_three_times_is_a_failure_with_its_message(launcher, make):
    job = make(epochs=4, die=3)
    outcome = launcher(job)
    assert outcome.status == "failed"
    assert "died 3 times" in outcome.message
    assert "SIGKILL" in outcome.message
    assert Store(launcher.store).read().failed[job.id] == outcome.message


def test_an_error_of_the_input_is_not_tried_again(launcher, make):
    job = make(fail="there is no such file")
    assert launcher(job).message == "there is no such file"
    assert starts(launcher, job) == 1
    assert read_failure(launcher.store / job.id) == "there is no such file"


def test_an_error_of_the_program_says_its_last_line_and_where_the_rest_is(launcher, make):
    job = make(crash="division of nothing")
    outcome = launcher(job)
    assert outcome.status == "failed"
    assert "ZeroDivisionError: division of nothing" in outcome.message
    assert "Traceback" in (launcher.store / job.id / "worker.log").read_text()


def test_a_worker_that_cannot_begin_says_why(launcher, make, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    assert "fake_training" in launcher(make()).message


def test_a_run_that_diverges_is_a_result(launcher, make):
    job = make(diverge=1)
    assert launcher(job).status == "finished"
    assert Store(launcher.store).read().finished[job.id].result["status"] == "diverged"


def test_success_takes_the_failure_away(launcher, make):
    folder = launcher.store / make().id
    folder.mkdir()
    (folder / "failure.json").write_text('{"message": "before"}')
    launcher(make())
    assert read_failure(folder) is None


def test_a_folder_in_use_is_left_alone(launcher, make):
    with held(launcher.store / make().id) as mine:
        assert mine
        assert launcher(make()).status == "busy"
    assert starts(launcher, make()) == 0


def test_an_unfinished_folder_that_cannot_go_on_is_set_aside_and_done_anew(launcher, make):
    job = make(fail="config.json is damaged")
    folder = launcher.store / job.id
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    outcome = launcher(job)
    assert outcome.status == "failed"
    assert starts(launcher, job) == 2
    assert (launcher.store / "damaged" / f"{job.id}-1" / "config.json").exists()
    assert any("done anew" in note for note in outcome.notes)


@pytest.mark.parametrize("how", ["stop"])
def test_a_worker_asked_to_stop_is_stopped_not_failed(launcher, make, how):
    job, seen = make(epochs=50, sleep=0.1), []

    def started(worker):
        seen.append(worker)
        threading.Timer(1.5, worker.stop).start()

    assert launcher(job, started).status == "stopped"
    assert read_failure(launcher.store / job.id) is None
