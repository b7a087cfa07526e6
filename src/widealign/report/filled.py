"""An experiment with its results: which scales have any, each grid's cells with their values, its claims' verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from widealign.experiments import (
    SCALES,
    Cell,
    Claim,
    Experiment,
    Grid,
    Number,
    Results,
    Scale,
    Value,
    Verdict,
    cells,
    jobs,
    value,
)
from widealign.sweep import Contents, Record

Agreement = Literal["agrees", "near", "differs", ""]
_TOO_SMALL = Verdict(outcome="not enough runs", because="smoke scale shows that everything runs, and no more")


@dataclass(frozen=True, kw_only=True)
class FilledCell:
    """A cell and what its runs say."""

    cell: Cell
    value: Value

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's; None where one of them is missing."""
        if self.value.mean is None or self.cell.paper is None:
            return None
        return self.value.mean - self.cell.paper[0]

    @property
    def exact(self) -> bool:
        """Whether ours rounds to what the paper prints."""
        if self.value.mean is None or self.cell.paper is None:
            return False
        ours, printed = (f"{number:.{self.cell.measure.decimals}f}" for number in (self.value.mean, self.cell.paper[0]))
        return ours == printed

    @property
    def tolerance(self) -> float:
        """What counts as agreement: twice the spread over seeds, or the grid's own measure of it if that is more."""
        spreads = [spread for spread in (self.value.spread, (self.cell.paper or (0, None))[1]) if spread is not None]
        return max([self.cell.tolerance, *(2 * spread for spread in spreads)])

    @property
    def agreement(self) -> Agreement:
        """In words; empty unless the cell is complete and has the paper's own settings."""
        if self.difference is None or not self.value.complete or not self.cell.comparable:
            return ""
        beyond_rounding = abs(self.difference) - self.half_digit
        if beyond_rounding <= self.tolerance:
            return "agrees"
        return "near" if beyond_rounding <= 2 * self.tolerance else "differs"

    @property
    def half_digit(self) -> float:
        """How far a printed number may be from what was rounded to it."""
        return 0.5 * 10**-self.cell.measure.decimals


@dataclass(frozen=True, kw_only=True)
class FilledGrid:
    """A grid at one scale, row by row."""

    grid: Grid
    cells: tuple[FilledCell, ...]

    @property
    def finished(self) -> bool:
        """Whether any cell has a value."""
        return any(filled.value.mean is not None for filled in self.cells)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One experiment at one scale."""

    experiment: Experiment
    scale: Scale
    grids: Mapping[str, FilledGrid]
    studies: tuple[Record, ...]
    finished: frozenset[str]
    planned: int
    verdicts: tuple[tuple[Claim, Verdict], ...]

    @property
    def share(self) -> float:
        """Part of the planned runs that are finished."""
        return len(self.finished) / self.planned if self.planned else 1.0


def blocks(experiment: Experiment, contents: Contents, only: Scale | None = None) -> tuple[Block, ...]:
    """The experiment at each scale that has results; a scale that says nothing beyond another one is left out."""
    every = [_block(experiment, scale, contents) for scale in SCALES if only in (None, scale)]
    begun = [block for block in every if block.finished or experiment.drawing]
    if experiment.drawing:
        return tuple(begun[:1])
    return tuple(block for block in reversed(begun) if not any(_covers(other, block) for other in begun))


def _covers(other: Block, block: Block) -> bool:
    """Whether `other` has all runs of `block` and is the better one to show."""
    if other is block or not other.finished >= block.finished:
        return False
    if len(other.finished) > len(block.finished):
        return True
    return (other.share, SCALES.index(other.scale)) > (block.share, SCALES.index(block.scale))


def _block(experiment: Experiment, scale: Scale, contents: Contents) -> Block:
    wanted = jobs(experiment, scale)
    studies = tuple(contents.finished[s.id] for s in experiment.studies.get(scale, ()) if s.id in contents.finished)
    grids = {grid.name: _fill(grid, scale, contents) for grid in experiment.grids}
    too_small = scale == "smoke" and experiment.in_all and not experiment.studies
    return Block(
        experiment=experiment,
        scale=scale,
        grids=grids,
        studies=studies,
        finished=frozenset(job.id for job in wanted if job.id in contents.finished),
        planned=len(wanted),
        verdicts=tuple(
            (claim, _TOO_SMALL if too_small else _check(claim, experiment, grids, studies))
            for claim in experiment.claims
        ),
    )


def _fill(grid: Grid, scale: Scale, contents: Contents) -> FilledGrid:
    return FilledGrid(
        grid=grid, cells=tuple(FilledCell(cell=cell, value=value(cell, contents)) for cell in cells(grid, scale))
    )


def _check(
    claim: Claim, experiment: Experiment, grids: Mapping[str, FilledGrid], studies: tuple[Record, ...]
) -> Verdict:
    names = [grid.name for grid in experiment.grids]
    chosen = grids.get(claim.grid or (names[0] if names else ""))
    return claim.check(_results(chosen, studies[0].result["study"] if studies else None))


def _results(filled: FilledGrid | None, study: Mapping[str, Any] | None) -> Results:
    if filled is None:
        return Results(study=study)
    compared = [f for f in filled.cells if f.agreement]
    return Results(
        axis=filled.grid.axis,
        columns=tuple(dict.fromkeys(f.cell.column.label for f in filled.cells)),
        numbers={
            (f.cell.row.key, f.cell.column.label): Number(
                mean=f.value.mean, spread=f.value.spread, seeds=f.value.seeds, tolerance=f.cell.tolerance
            )
            for f in filled.cells
            if f.value.complete and f.value.mean is not None
        },
        differences=tuple(
            (_name(f.cell, filled.grid), f.difference, f.tolerance + f.half_digit)
            for f in compared
            if f.difference is not None
        ),
        exact=sum(f.exact for f in compared),
        study=study,
    )


def _name(cell: Cell, grid: Grid) -> str:
    return f"{cell.row.key.replace(' | ', ', ')} at {grid.axis} {cell.column.label}".strip()
