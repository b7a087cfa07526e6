"""Agreement, claims and scales: what a block says of its runs."""

from dataclasses import replace

import pytest

from widealign.experiments import Value, cells, find, value
from widealign.report.filled import FilledCell, blocks
from widealign.report.tables import as_csv, table

pytestmark = pytest.mark.quick


def filled(make_contents, name="table-6", scale="paper", **how):
    [block] = blocks(find(name), make_contents((name, scale), **how), only=scale)
    return block


def test_agreement_is_relative_to_tolerance(make_contents):
    block = filled(make_contents)
    grid = block.grids["table-6"]
    assert {f.agreement for f in grid.cells} <= {"agrees", "near", "differs"}
    for f in grid.cells:
        expected = "agrees" if abs(f.difference) <= 2.05 else "near" if abs(f.difference) <= 4.05 else "differs"
        assert f.agreement == expected


def test_a_known_spread_widens_the_tolerance(make_contents):
    block = filled(make_contents, "table-2")
    normal = next(f for f in block.grids["table-2"].cells if f.cell.row.label == "Normal")
    assert normal.value.seeds == 5
    assert normal.tolerance == max(2.0, 2 * normal.value.spread, 2 * 0.4)


def test_cells_of_another_budget_are_not_coloured(make_contents):
    block = filled(make_contents, scale="desk")
    assert {f.agreement for f in block.grids["table-6"].cells} == {""}
    assert all(f.difference is not None for f in block.grids["table-6"].cells)


def test_cells_that_wait_for_runs_are_partial_and_not_coloured(make_contents):
    block = filled(make_contents, drop=lambda config: config.lr == 5.0)
    assert {f.agreement for f in block.grids["table-6"].cells} == {""}
    shown = table(block.grids["table-6"])
    assert all(cell.partial for _, rows in shown.groups for _, line in rows for cell in line)
    assert all("2 of 3 runs" in cell.about for _, rows in shown.groups for _, line in rows for cell in line)


def test_missing_cells_keep_the_papers_number(make_contents):
    block = filled(make_contents, drop=lambda config: config.width == 512)
    shown = table(block.grids["table-6"])
    assert shown.columns[-1] == "512"
    last = [line[-1] for _, rows in shown.groups for _, line in rows]
    assert {cell.ours for cell in last} == {"–"}
    assert [cell.paper for cell in last] == ["58.0", "51.4", "54.1", "45.4", "43.4", "62.3"]


def test_claims_get_verdicts(make_contents):
    verdicts = [verdict.outcome for _, verdict in filled(make_contents).verdicts]
    assert verdicts == ["holds", "holds", "holds", "holds"]
    none = filled(make_contents, drop=lambda config: config.width != 8)
    assert {verdict.outcome for _, verdict in none.verdicts[:3]} == {"not enough runs"}


def test_smoke_scale_decides_no_claim(make_contents):
    assert {v.outcome for _, v in filled(make_contents, scale="smoke").verdicts} == {"not enough runs"}


def test_claims_about_studies(make_contents):
    verdicts = [v for _, v in filled(make_contents, "theory-2", "desk").verdicts]
    assert [v.outcome for v in verdicts] == ["holds"] * 6
    assert "measured exponent −0.48" in verdicts[1].because


def test_an_experiment_without_runs_has_no_block(make_contents):
    assert blocks(find("table-9"), make_contents(("table-8", "smoke"))) == ()


def test_a_scale_that_says_nothing_new_is_left_out(make_contents):
    both = make_contents(("table-9", "desk"))
    assert [block.scale for block in blocks(find("table-9"), both)] == ["desk"]
    more = make_contents(("table-9", "paper"))
    assert [block.scale for block in blocks(find("table-9"), more)] == ["paper"]
    two = make_contents(("table-6", "paper"), ("table-6", "desk"))
    assert [block.scale for block in blocks(find("table-6"), two)] == ["paper", "desk"]


def test_sound_tables_show_the_interval_of_the_mean(make_contents):
    block = filled(make_contents, "sound-9")
    grid = block.grids["sound-9"]
    first = grid.cells[0]
    shown = table(grid)
    cell = shown.groups[0][1][0][1][0]
    assert float(cell.spread[1:]) == pytest.approx(2.776 * first.value.spread / 5**0.5, abs=0.06)
    assert "95 % interval over 5 seeds" in shown.notes[-1]


def test_a_minus_sign_is_a_minus_sign(make_contents):
    shown = table(filled(make_contents).grids["table-6"])
    differences = [cell.difference for _, rows in shown.groups for _, line in rows for cell in line]
    assert any(text.startswith("−") for text in differences)
    assert not any("-" in text for text in differences)
    assert "+0.0" not in differences


def test_the_csv_has_every_cell_in_full(make_contents):
    grid = filled(make_contents).grids["table-6"]
    lines = as_csv(grid).splitlines()
    assert len(lines) == 1 + 42
    assert lines[0].startswith("group,row,width,ours,spread,seeds,lr,paper,difference,agreement")
    assert lines[1].split(",")[1:3] == ["Align-ada", "8"]


def test_a_cell_without_paper_has_no_difference(make_contents):
    [cell, *_] = cells(find("sound-9").tables[0], "paper")

    found = FilledCell(cell=cell, value=value(cell, make_contents(("sound-9", "paper"))))
    assert found.difference is None
    assert found.agreement == ""


@pytest.mark.parametrize(
    ("ours", "exact"), [(28.9, True), (28.86, True), (28.949, True), (28.84, False), (29.0, False)]
)
def test_exact_is_what_rounds_to_the_printed_digits(ours, exact):
    [cell, *_] = cells(find("table-9").tables[0], "paper")
    assert cell.paper[0] == 28.9
    assert FilledCell(cell=cell, value=Value(mean=ours)).exact is exact


@pytest.mark.parametrize(
    ("ours", "agreement"), [(26.8511, "agrees"), (26.8489, "near"), (24.8511, "near"), (24.8, "differs")]
)
def test_what_the_paper_rounded_is_not_held_against_us(ours, agreement):
    [cell] = [
        cell
        for cell in cells(find("table-9").tables[0], "paper")
        if (cell.row.key, cell.column.label) == ("1500 | Align-zero", "32")
    ]
    cell = replace(cell, paper=(28.9, None), tolerance=2.0)
    assert FilledCell(cell=cell, value=Value(mean=ours, finished=3, planned=3)).agreement == agreement
