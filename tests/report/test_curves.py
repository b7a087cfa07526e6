"""Curves, and what the two drawers make of them."""

import pytest

from widealign.experiments import Rates, find
from widealign.report import interactive, printed
from widealign.report.curves import as_csv, axes, study_axes
from widealign.report.drawing import updates
from widealign.report.filled import blocks
from widealign.report.ticks import log_ticks

pytestmark = pytest.mark.quick


def panels(make_contents, name, scale="paper", **how):
    [block] = blocks(find(name), make_contents((name, scale), **how), only=scale)
    return axes(block)


def test_one_curve_a_rule_with_the_papers_numbers(make_contents):
    cifar, _, fashion = panels(make_contents, "figure-4")
    assert [curve.name for curve in cifar.curves] == ["Align-ada", "Align-zero", "DFA", "FA", "Last layer", "Normal"]
    assert [point.x for point in cifar.curves[0].points] == [8, 16, 32, 64, 128, 256, 512]
    assert [point.y for point in cifar.curves[0].paper] == [33.7, 35.7, 42.8, 49.9, 54.2, 56.6, 58.0]
    assert fashion.curves[0].paper == ()


def test_only_the_two_ends_of_the_widths_are_drawn(make_contents):
    [panel] = panels(make_contents, "figure-6")
    assert {curve.name for curve in panel.curves if curve.group == "Normal"} == {"Normal, width 8", "Normal, width 512"}
    assert panel.dashes == (("width 512", "solid"), ("width 8", "dash"))
    assert [curve.leads for curve in panel.curves if curve.group == "Normal"].count(True) == 1


def test_missing_cells_are_gaps_not_zeros(make_contents):
    [panel, *_] = panels(make_contents, "figure-4", drop=lambda config: config.width == 64)
    assert [point.x for point in panel.curves[0].points] == [8, 16, 32, 128, 256, 512]


def test_traces_over_epochs_with_their_baseline(make_contents):
    cifar, *_ = panels(make_contents, "figure-8")
    assert len(cifar.curves) == 14
    assert len(cifar.curves[0].points) == 40
    assert {curve.dash for curve in cifar.curves} == {"solid", "dot"}
    assert dict(cifar.dashes) == {"trained weights": "solid", "permuted weights": "dot"}


def test_times_as_multiples_of_backprops_beside_those_of_the_authors_scripts(make_contents):
    seconds, multiples = panels(make_contents, "figure-7", "desk")
    assert multiples.rings == "the authors' scripts"  # the paper prints no such numbers
    assert multiples.has_rings
    assert not seconds.has_rings
    normal, ada = seconds.curves[:2]
    assert [curve.name for curve in multiples.curves] == ["Align-ada", "Align-zero"]
    for one, of, point in zip(normal.points, ada.points, multiples.curves[0].points, strict=True):
        assert point.y == pytest.approx(of.y / one.y)
        assert 0 < point.spread < 0.2
    assert [(point.x, point.y) for point in multiples.curves[0].paper] == [
        (8, 1.77),
        (16, 1.74),
        (32, 1.57),
        (64, 1.39),
    ]
    assert [point.y for point in multiples.curves[1].paper] == [1.39, 1.40, 1.25, 1.34]
    assert multiples.y_title == "seconds per epoch, × Normal"
    assert not seconds.curves[1].paper


def test_without_backprop_there_are_no_multiples(make_contents):
    drawn = panels(make_contents, "figure-7", "desk", drop=lambda config: config.rule == "normal" and config.width < 64)
    assert [point.x for point in drawn[1].curves[0].points] == [64]


def test_an_axis_with_a_word_on_it_has_categories(make_contents):
    [panel] = panels(make_contents, "refresh-1")
    assert panel.ticks[0] == "never"
    assert not panel.log_x
    axis = interactive.figure(panel)["layout"]["xaxis"]
    assert axis["type"] == "category"


def test_theory_has_its_fitted_law():
    study = {
        "widths": [10, 100],
        "series": {"align-ada output": {"mean": [1.0, 0.1], "spread": [0.1, 0.01]}},
        "fits": {"align-ada output": {"slope": -1.0, "interval": [-1.1, -0.9]}},
    }
    [panel] = study_axes(study, [Rates(title="Output", series={"Align-ada": "align-ada output", "FA": "fa output"})])
    measured, fitted = panel.curves
    assert [point.y for point in fitted.points] == pytest.approx([1.0, 0.1])
    assert fitted.group == measured.group == "Align-ada"
    assert (measured.leads, fitted.leads) == (True, False)


def test_a_fitted_law_passes_through_the_middle_of_all_points():
    study = {
        "widths": [10, 100, 1000],
        "series": {"gap": {"mean": [1.0, 0.3, 0.01], "spread": [0.0, 0.0, 0.0]}},
        "fits": {"gap": {"slope": -1.0, "interval": [-1.1, -0.9]}},
    }
    [panel] = study_axes(study, [Rates(title="Gap", series={"gap": "gap"})])
    assert [point.y for point in panel.curves[1].points] == pytest.approx([1.442, 0.1442, 0.01442], rel=1e-3)


def test_the_wide_limit_is_a_dashed_line_over_all_widths(make_contents):
    [block] = blocks(find("theory-3"), make_contents(("theory-3", "desk")), only="desk")
    errors, distances = study_axes(block.studies[0].result["study"], block.experiment.rates)
    assert [curve.dash for curve in errors.curves] == ["solid"] * 4 + ["dash"]
    assert [(point.x, point.y) for point in errors.curves[-1].points] == [(64, 0.0), (1024, 0.0)]
    assert ("wide limit", "dash") in errors.dashes
    assert (errors.y_title, errors.log_x, errors.log_y) == ("mean squared error", True, False)
    assert [curve.name.split(",")[0] for curve in distances.curves[::2]] == ["Backprop", "Align-zero"]
    assert distances.log_y


def test_plotly_gets_a_legend_entry_for_each_group_and_both_colours(make_contents):
    [panel] = panels(make_contents, "figure-6")
    traces = interactive.figure(panel)["data"]
    shown = [trace["name"] for trace in traces if trace["showlegend"]]
    assert sorted(shown) == ["Align-ada", "Align-zero", "DFA", "FA", "Normal"]
    assert all(set(trace["meta"]) == {"light", "dark"} for trace in traces)
    rings = [trace for trace in traces if trace["marker"].get("symbol") == "circle-open"]
    assert len(rings) == len(panel.curves)


def test_logarithmic_axes_have_plain_labels(make_contents):
    train, _ = panels(make_contents, "figure-9")
    assert train.y_ticks == (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    assert interactive.figure(train)["layout"]["yaxis"]["ticktext"] == ["0.2", "0.5", "1", "2", "5", "10"]
    assert log_ticks([1e-9, 1.0])[:2] == (1e-9, 1e-8)
    assert log_ticks([0.0]) == ()


def test_every_point_is_in_the_csv(make_contents):
    drawn = panels(make_contents, "figure-9")
    lines = as_csv(drawn).splitlines()
    assert len(lines) == 1 + 2 * 80
    assert "Train loss,Normal,paper,4096,0.429," in lines


def test_the_drawing_of_updates(tmp_path):
    printed.save(updates(), tmp_path / "figure-2")
    assert (tmp_path / "figure-2.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figure-2.pdf").read_bytes().startswith(b"%PDF")


def test_equal_results_are_drawn_in_equal_bytes(make_contents, tmp_path):
    for name in ("one", "two"):
        printed.save(printed.draw(panels(make_contents, "figure-9")), tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
