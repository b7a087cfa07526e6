"""What is missing, in which order, for how long."""

import pytest

from widealign.config import RunConfig
from widealign.experiments import find, jobs, select
from widealign.sweep.cost import START_UP, Clock, clock, work
from widealign.sweep.plan import plan
from widealign.sweep.record import Record
from widealign.sweep.store import Contents

pytestmark = pytest.mark.quick


def contents(*finished) -> Contents:
    records = {job.id: Record(job=job, result={"seconds": 1.0}, origin={}, metrics=()) for job in finished}
    return Contents(finished=records, damaged={}, failed={}, unfinished=frozenset())


def test_runs_shared_by_two_tables_are_planned_once():
    both = plan(select(("table-1", "table-6")), "paper", contents(), Clock({}))
    ids = {job.id for name in ("table-1", "table-6") for job in jobs(find(name), "paper")}
    assert len(both.todo) == len(ids)
    assert len(ids) == 63 + 126 - 54


def test_a_figure_drawn_from_a_table_needs_no_run_of_its_own():
    table = plan(select(("table-6", "table-7")), "desk", contents(), Clock({}))
    both = plan(select(("table-6", "table-7", "figure-4")), "desk", contents(), Clock({}))
    assert {job.id for job in both.todo} == {job.id for job in table.todo}


def test_finished_runs_are_left_out():
    every = plan((find("table-8"),), "smoke", contents(), Clock({})).todo
    rest = plan((find("table-8"),), "smoke", contents(*every[:3]), Clock({}))
    assert rest.todo == every[3:]
    assert rest.finished == 3


def test_longest_first_and_timing_last():
    todo = plan(select(("figure-7", "table-6")), "desk", contents(), Clock({}))
    shared = [todo.seconds[job.id] for job in todo.todo if job.id not in todo.alone]
    assert shared == sorted(shared, reverse=True)
    alone = [job.id in todo.alone for job in todo.todo]
    assert alone == sorted(alone)
    assert any(alone)


def test_seeds_and_only():
    wanted = plan((find("table-8"),), "smoke", contents(), Clock({}), seeds=2, only=lambda job: job.width == 8).todo
    assert {job.seed for job in wanted} == {99, 100}
    assert {job.width for job in wanted} == {8}


def test_work_grows_with_everything_that_costs():
    small = {"task": "cifar10", "rule": "normal", "width": 8, "lr": 1.0, "data_limit": 100}
    base = work(RunConfig(**small))
    assert work(RunConfig(**{**small, "epochs": 3})) == 3 * base
    for change in (
        {"width": 16},
        {"data_limit": 200},
        {"rule": "align-ada"},
        {"alignment": True},
        {"task": "imagenet"},
    ):
        assert work(RunConfig(**{**small, **change})) > base


def test_a_clock_repeats_what_it_measured_and_scales_it():
    config = RunConfig(task="cifar10", rule="normal", width=8, lr=1.0, epochs=4)
    seen = Record(job=config, result={"seconds": 40.0, "epochs": 4}, origin={}, metrics=())
    measured = clock([seen])
    assert measured.seconds(config) == pytest.approx(START_UP + 40.0)
    twice = RunConfig(task="cifar10", rule="normal", width=8, lr=1.0, epochs=8)
    assert measured.seconds(twice) == pytest.approx(START_UP + 80.0)
    assert measured.knows("cifar10")
    assert not measured.knows("add")


def test_a_run_that_stopped_early_counts_for_the_epochs_it_did():
    config = RunConfig(task="add", rule="normal", width=8, lr=1.0, epochs=10)
    diverged = Record(job=config, result={"seconds": 5.0, "epochs": 5}, origin={}, metrics=())
    assert clock([diverged]).seconds(config) == pytest.approx(START_UP + 10.0)


def test_wall_time_is_the_share_or_the_longest():
    todo = plan((find("table-8"),), "desk", contents(), Clock({}))
    assert todo.wall_seconds(1) == pytest.approx(sum(todo.seconds.values()))
    assert todo.wall_seconds(1000) == pytest.approx(max(todo.seconds.values()))


def test_where_the_interpreter_decides_width_hardly_counts():
    digits = [work(RunConfig(task="digits", rule="normal", width=width, lr=1.0)) for width in (16, 256)]
    images = [work(RunConfig(task="cifar10", rule="normal", width=width, lr=1.0)) for width in (16, 256)]
    assert digits[1] < 2 * digits[0]
    assert images[1] > 50 * images[0]
