"""Every spec, enrolled by itself: it expands at every scale, its paper numbers are all found, its words are there."""

import subprocess
import sys

import pytest

from widealign.errors import UsageError
from widealign.experiments import SCALES, Study, cells, experiments, find, jobs, select
from widealign.experiments.paper_numbers import printed

pytestmark = pytest.mark.quick
ALL = experiments().values()
WANTED = (
    [f"table-{i}" for i in range(1, 11)] + [f"figure-{i}" for i in range(1, 10)]
    + ["theory-1", "theory-2", "theory-3", "sound-9", "epochs-9", "refresh-1", "speed-1"]
)  # fmt: skip
TABLES = {
    "table-1": ("table_1_align_prop_cifar10", 21),
    "table-2": ("table_2_multiseed_cifar10", 5),
    "table-3": ("table_3_alignment_cifar10_relu", 49),
    "table-4": ("table_4_alignment_kmnist_relu", 21),
    "table-5": ("table_5_alignment_cifar10_tanh", 49),
    "table-6": ("table_6_width_cifar10", 42),
    "table-7": ("table_7_width_kmnist", 42),
    "table-8": ("table_8_add_task", 80),
    "table-9": ("table_9_small_cifar10", 245),
    "table-10": ("table_10_standard_param_cifar10", 63),
}


def test_there_is_one_spec_for_each():
    assert [name for name in experiments() if name in WANTED] == WANTED


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.id)
def test_says_what_it_is(experiment):
    assert experiment.title
    assert experiment.about.endswith(".")
    assert all(claim.says.endswith(".") for claim in experiment.claims)
    assert experiment.tables or experiment.panels or experiment.studies or experiment.drawing


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.id)
@pytest.mark.parametrize("scale", SCALES)
def test_expands_to_distinct_runs(experiment, scale):
    found = jobs(experiment, scale)
    assert len({job.id for job in found}) == len(found)
    assert bool(found) != experiment.drawing


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.id)
def test_smoke_is_small(experiment):
    if not experiment.in_all:
        pytest.skip("a demonstration has one size")
    runs = [job for job in jobs(experiment, "smoke") if not isinstance(job, Study)]
    assert len(runs) <= 72
    assert all(job.epochs <= 5 and job.width <= 16 for job in runs)
    assert all((job.data_limit or 10**6) <= 150 for job in runs if job.task not in ("add", "imagenet"))


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.id)
def test_runs_use_one_thread_so_that_bits_do_not_depend_on_the_machine(experiment):
    assert {job.threads for scale in SCALES for job in jobs(experiment, scale) if not isinstance(job, Study)} <= {1}


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.id)
def test_claims_name_grids_and_rows_that_exist(experiment):
    for claim in experiment.claims:
        assert not claim.grid or claim.grid in {grid.name for grid in experiment.grids}


@pytest.mark.parametrize(("name", "table"), TABLES.items())
def test_every_printed_number_has_its_cell(name, table):
    csv, count = table
    assert len(printed(csv)) == count
    [grid] = [grid for grid in find(name).tables if grid.paper]
    assert grid.paper == csv
    found = [cell.paper for cell in cells(grid, "paper") if cell.paper is not None]
    assert len(found) == count
    assert sorted(found) == sorted(printed(csv).values())


def test_grid_names_are_unique():
    grids = {id(grid): grid for experiment in ALL for grid in experiment.grids}.values()
    assert len({grid.name for grid in grids}) == len(grids)


def test_known_cells_of_the_paper():
    assert printed("table_9_small_cifar10")["45 | Align-ada", "8"] == (28.9, None)
    assert printed("table_8_add_task")["Normal, Test loss", "4096"] == (0.357, None)
    assert printed("table_2_multiseed_cifar10")["Accuracy", "Normal"] == (63.1, 0.4)


def test_table_10_small_learning_rate_has_one():
    [grid] = find("table-10").tables
    small = [cell for cell in cells(grid, "paper") if "small" in cell.row.group]
    assert {len(cell.candidates) for cell in small} == {1}
    assert {cell.candidates[0].lr for cell in small} == {0.0005}


def test_unknown_ids_are_told_what_there_is():
    with pytest.raises(UsageError, match=r"Did you mean table-6\?.*table-1.*and all"):
        find("tabel-6")
    with pytest.raises(UsageError, match="Name at least one experiment"):
        select(())


def test_all_is_every_one_and_names_count_once():
    chosen = [experiment.id for experiment in select(("all", "table-1"))]
    assert chosen == [experiment.id for experiment in ALL if experiment.in_all]
    assert set(WANTED) <= set(chosen)


def test_no_torch():
    code = "import sys, widealign.experiments as e; list(e.experiments()); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
