"""How a cell follows from its runs."""

from dataclasses import dataclass, field, replace

import pytest

from widealign.experiments import Budget, Grid, Line, cells, value
from widealign.experiments.measures import (
    ACCURACY,
    LOSS,
    SCORE,
    SECONDS,
    loss_over_steps,
    scores_over_epochs,
    thinned,
)

pytestmark = pytest.mark.quick


@dataclass
class Run:
    best: dict = field(default_factory=dict)
    last: dict = field(default_factory=dict)
    result: dict = field(default_factory=lambda: {"status": "finished"})
    metrics: list = field(default_factory=list)

    def lines(self, kind):
        return [line for line in self.metrics if line["kind"] == kind]


class Runs(dict):
    """By (learning rate, seed)."""

    def seeds_of(self, config):
        return {seed: run for (lr, seed), run in self.items() if lr == config.lr}


def accuracy(value: float, status: str = "finished") -> Run:
    return Run(best={"eval_acc": value}, result={"status": status})


GRID = Grid(
    name="test",
    title="",
    rows=(Line(label="FA", sets={"rule": "fa"}),),
    columns=(Line(label="8", sets={"width": 8}), Line(label="16", sets={"width": 16})),
    holds={"task": "cifar10", "epochs": 150},
    budgets={
        "smoke": Budget(caps={"epochs": 2, "data_limit": 100}, keeps={"width": (8,)}, lrs=(1.0, 2.0)),
        "desk": Budget(seeds=(1, 2)),
        "paper": Budget(),
    },
)


def test_a_scale_caps_keeps_and_chooses_learning_rates():
    [cell] = cells(GRID, "smoke")
    assert [(c.width, c.epochs, c.data_limit, c.lr, c.seed) for c in cell.configs] == [
        (8, 2, 100, 1.0, 99),
        (8, 2, 100, 2.0, 99),
    ]
    assert [c.lr for c in cells(GRID, "paper")[0].configs] == [1.0, 2.0, 5.0]


def test_a_cap_leaves_smaller_settings_alone():
    grid = replace(GRID, rows=(Line(label="45", sets={"rule": "fa", "data_limit": 45}),))
    assert cells(grid, "smoke")[0].candidates[0].data_limit == 45


def test_only_cells_with_the_papers_own_settings_are_comparable():
    assert not cells(GRID, "smoke")[0].comparable
    assert all(cell.comparable for cell in cells(GRID, "desk"))


def test_seeds_can_be_more_or_fewer():
    assert cells(GRID, "paper", seeds=3)[0].seeds == (99, 100, 101)
    assert cells(GRID, "desk", seeds=1)[0].seeds == (1,)


def test_best_learning_rate_then_mean_and_spread():
    cell = cells(GRID, "desk")[0]
    runs = Runs({(1.0, 1): accuracy(0.3), (1.0, 2): accuracy(0.5), (2.0, 1): accuracy(0.45), (2.0, 2): accuracy(0.45)})
    runs |= {(5.0, 1): accuracy(0.9), (5.0, 2): accuracy(0.1)}
    found = value(cell, runs)
    assert (found.mean, found.lr, found.seeds, found.complete) == (pytest.approx(50.0), 5.0, 2, True)
    assert found.spread == pytest.approx(80 / 2**0.5)


def test_a_lower_loss_is_better():
    grid = replace(GRID, measure=LOSS, rows=(Line(label="", sets={"rule": "fa", "figure": "eval_loss"}),))
    runs = Runs({(lr, 99): Run(best={"eval_loss": loss}) for lr, loss in ((1.0, 0.5), (2.0, 0.2), (5.0, 0.9))})
    assert value(cells(grid, "paper")[0], runs).mean == 0.2


def test_seeds_beyond_the_plan_count_too():
    runs = Runs({(lr, seed): accuracy(0.1 * lr + seed / 1000) for lr in (1.0, 2.0, 5.0) for seed in (99, 100, 101)})
    assert value(cells(GRID, "paper")[0], runs).seeds == 3


def test_a_learning_rate_with_fewer_seeds_is_not_compared():
    runs = Runs({(1.0, 1): accuracy(0.3), (1.0, 2): accuracy(0.3), (2.0, 1): accuracy(0.9)})
    found = value(cells(GRID, "desk")[0], runs)
    assert found.lr == 1.0
    assert not found.complete
    assert (found.finished, found.planned) == (3, 6)


def test_no_runs_no_number():
    found = value(cells(GRID, "desk")[0], Runs())
    assert found.mean is None
    assert not found.complete


def test_a_diverged_run_counts_with_its_best_epoch():
    runs = Runs({(1.0, 99): accuracy(0.3, "diverged"), (2.0, 99): accuracy(0.2), (5.0, 99): Run(best={})})
    found = value(cells(GRID, "paper")[0], runs)
    assert (found.mean, found.diverged, found.complete) == (pytest.approx(30.0), 1, True)


def test_chosen_by_one_figure_and_shown_by_another():
    grid = replace(GRID, choose=replace(ACCURACY, of=lambda run, at: run.best["val_acc"]))
    runs = Runs(
        {(1.0, 99): Run(best={"eval_acc": 0.9, "val_acc": 0.1}), (2.0, 99): Run(best={"eval_acc": 0.5, "val_acc": 0.2})}
    )
    runs[5.0, 99] = runs[1.0, 99]
    assert value(cells(grid, "paper")[0], runs).mean == pytest.approx(50.0)


def test_alignment_reads_the_last_line_of_its_layer():
    lines = [
        {"kind": "alignment", "epoch": e, "layer": layer, "score": 0, "score_probe": e + layer / 10}
        for e in (1, 2)
        for layer in (1, 2)
    ]
    run = Run(metrics=lines)
    assert SCORE.of(run, {"layer": 1}) == pytest.approx(2.1)
    assert SCORE.of(run, {"layer": 9}) is None
    assert scores_over_epochs(run, {"layer": 2}) == [(1, 1.2), (2, 2.2)]


def test_the_exact_score_stands_in_where_there_are_no_probes():
    line = {"kind": "alignment", "epoch": 1, "layer": 1, "score": 0.5, "score_probe": None, "score_permuted": 0.1}
    assert SCORE.of(Run(metrics=[line]), {"layer": 1}) == 0.5
    assert scores_over_epochs(Run(metrics=[line]), {"layer": 1, "baseline": True}) == [(1, 0.1)]


def test_seconds_per_epoch():
    assert SECONDS.of(Run(result={"seconds": 30.0, "epochs": 15}), {}) == 2.0
    assert SECONDS.of(Run(result={"seconds": 30.0, "epochs": 0}), {}) is None


def test_steps_are_averaged_over_stretches():
    steps = [{"kind": "step", "step": i, "loss": float(i)} for i in range(1, 301)]
    run = Run(metrics=steps)
    points = loss_over_steps(run, {})
    assert len(points) == 150
    assert points[0] == (2, 1.5)
    assert thinned(thinned(steps)) == thinned(steps)


def test_lost_steps_are_left_out():
    assert thinned([{"kind": "step", "step": 1, "loss": None}]) == []
