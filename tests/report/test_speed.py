"""Timings as tables: rules down, widths across."""

import csv
import io

import pytest

from widealign.report.speed import as_csv, speed_tables

pytestmark = pytest.mark.quick


@pytest.fixture
def rows(make_contents):
    [study] = make_contents(("speed-1", "desk")).finished.values()
    return study.result["study"]["rows"]


def test_a_table_a_network_at_its_usual_batch(rows):
    first, second = speed_tables(rows)
    assert [table.network for table in (first, second)] == [
        "cnn, batches of 100, 200 training examples",
        "mlp, batches of 100, 200 training examples",
    ]
    assert first.heads == ("rule", "form", "width 64", "width 128", "floor", "memory")
    assert first.rows[:2] == (
        ("backprop", "plain", "1.00", "0.50", "1.33", "1.00 to 2.00"),
        ("align-ada", "plain", "1.36", "0.68", "1.33", "1.00 to 2.00"),
    )


def test_a_width_that_was_not_timed_is_empty_and_forms_of_a_rule_stand_together(rows):
    gates = {**rows[3], "mode": "gates", "width": 128}
    lines = speed_tables([*rows, gates])[0].rows
    assert [line[:2] for line in lines[:3]] == [("backprop", "plain"), ("align-ada", "plain"), ("align-ada", "gates")]
    assert lines[2][2:4] == ("", "1.36")


def test_the_csv_has_every_row(rows):
    lines = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert len(lines) == len(rows)
    assert {line["batch_size"] for line in lines} == {"100", "25"}


def test_without_timings_there_is_no_table():
    assert speed_tables([]) == ()
