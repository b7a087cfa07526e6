"""Cells: a grid at one scale, the runs that each cell needs, and its value once they are finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean, stdev
from typing import Any, Protocol

from widealign.config import RunConfig
from widealign.experiments.measures import Measure, Run
from widealign.experiments.paper_numbers import lookup
from widealign.experiments.spec import Budget, Experiment, Grid, Job, Line, Scale

_SETTINGS = frozenset(f.name for f in fields(RunConfig))


class Runs(Protocol):
    """The finished runs that cells are computed from."""

    def seeds_of(self, config: RunConfig) -> Mapping[int, Run]:
        """Finished runs that equal the configuration in everything but the seed, by seed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One place of a grid: its coordinates, and one configuration for each learning rate that is tried."""

    row: Line
    column: Line
    at: Mapping[str, Any]
    candidates: tuple[RunConfig, ...]
    seeds: tuple[int, ...]
    measure: Measure
    choose: Measure
    paper: tuple[float, float | None] | None
    tolerance: float
    comparable: bool
    alone: bool = False

    @property
    def configs(self) -> tuple[RunConfig, ...]:
        """All runs of the cell."""
        return tuple(replace(config, seed=seed) for config in self.candidates for seed in self.seeds)


@dataclass(frozen=True, kw_only=True)
class Value:
    """What the finished runs say about a cell.

    Attributes:
        mean: Mean over seeds at the chosen learning rate; None when no run is finished.
        spread: Sample standard deviation over seeds; None with fewer than two.
        seeds: Number of seeds behind the mean.
        lr: The chosen learning rate.
        finished: Finished runs among the planned ones.
        planned: Runs that the cell needs.
        diverged: Runs behind the mean that diverged; their best epoch before counts.
    """

    mean: float | None = None
    spread: float | None = None
    seeds: int = 0
    lr: float | None = None
    finished: int = 0
    planned: int = 0
    diverged: int = 0
    runs: tuple[Run, ...] = field(default=(), repr=False)

    @property
    def complete(self) -> bool:
        """Whether every planned run is finished and gives a number."""
        return self.mean is not None and self.finished >= self.planned


def cells(grid: Grid, scale: Scale, seeds: int | None = None) -> tuple[Cell, ...]:
    """Every cell that the scale keeps, row by row; `seeds` overrides the number of seeds.

    Example:
        >>> from widealign.experiments import find
        >>> [grid] = find("table-6").tables
        >>> cell = cells(grid, "paper")[0]
        >>> cell.row.label, cell.column.label, [config.lr for config in cell.configs]
        ('Align-ada', '8', [1.0, 2.0, 5.0])
    """
    budget = grid.budgets.get(scale)
    if budget is None:
        return ()
    return tuple(
        _cell(grid, budget, row, column, seeds)
        for row in grid.rows
        for column in grid.columns
        if _kept({**row.sets, **column.sets}, budget)
    )


def _kept(at: Mapping[str, Any], budget: Budget) -> bool:
    return all(at[key] in values for key, values in budget.keeps.items() if key in at)


def _cell(grid: Grid, budget: Budget, row: Line, column: Line, seeds: int | None) -> Cell:
    at = {**row.sets, **column.sets}
    candidates = _candidates(grid, budget, at)
    in_full = grid.budgets.get("paper", budget)
    return Cell(
        row=row,
        column=column,
        at=at,
        candidates=candidates,
        seeds=_seeds(budget.seeds, seeds),
        measure=grid.measure,
        choose=grid.choose or grid.measure,
        paper=lookup(grid.paper, row, column),
        tolerance=grid.tolerance(at),
        comparable=_but_for_lr(candidates[0]) == _but_for_lr(_candidates(grid, in_full, at)[0]),
        alone=grid.alone,
    )


def _candidates(grid: Grid, budget: Budget, at: Mapping[str, Any]) -> tuple[RunConfig, ...]:
    settings = {**grid.holds, **{key: value for key, value in at.items() if key in _SETTINGS}}
    for key, cap in budget.caps.items():
        settings[key] = cap if settings.get(key) is None else min(settings[key], cap)
    lrs = (settings.pop("lr"),) if "lr" in settings else at.get("lrs") or budget.lrs or grid.lrs
    return tuple(RunConfig(lr=lr, seed=budget.seeds[0], **settings) for lr in lrs)


def _but_for_lr(config: RunConfig) -> RunConfig:
    return replace(config, lr=0.0, seed=0)


def _seeds(own: Sequence[int], count: int | None) -> tuple[int, ...]:
    if count is None:
        return tuple(own)
    return (*own, *range(max(own) + 1, max(own) + 1 + count))[:count]


def jobs(experiment: Experiment, scale: Scale, seeds: int | None = None) -> tuple[Job, ...]:
    """Every distinct run that an experiment needs at a scale."""
    configs = [config for grid in experiment.grids for cell in cells(grid, scale, seeds) for config in cell.configs]
    return tuple({job.id: job for job in (*configs, *experiment.studies.get(scale, ()))}.values())


def value(cell: Cell, runs: Runs) -> Value:
    """Best learning rate by its mean over seeds, then mean and spread of the measure.

    All seeds in the store count, also those beyond the cell's plan. A learning rate is compared with another only if
    it has as many seeds as the best covered one.
    """
    tried = [(config, runs.seeds_of(config)) for config in cell.candidates]
    finished = sum(seed in found for _, found in tried for seed in cell.seeds)
    planned = len(tried) * len(cell.seeds)
    covered = max(len(found) for _, found in tried)
    scored = [(config, found) for config, found in tried if found and len(found) == covered]
    ranked = sorted(scored, key=lambda pair: _rank(cell, pair[1]), reverse=True)
    if not ranked:
        return Value(finished=finished, planned=planned)
    config, found = ranked[0]
    used = [(number, run) for run in found.values() if (number := cell.measure.of(run, cell.at)) is not None]
    numbers = [number for number, _ in used]
    return Value(
        mean=fmean(numbers) if numbers else None,
        spread=stdev(numbers) if len(numbers) > 1 else None,
        seeds=len(numbers),
        lr=config.lr,
        finished=finished,
        planned=planned,
        diverged=sum(run.result.get("status") == "diverged" for _, run in used),
        runs=tuple(run for _, run in used),
    )


def _rank(cell: Cell, found: Mapping[int, Run]) -> float:
    numbers = [number for run in found.values() if (number := cell.choose.of(run, cell.at)) is not None]
    if not numbers:
        return float("-inf")
    return fmean(numbers) if cell.choose.better == "high" else -fmean(numbers)
