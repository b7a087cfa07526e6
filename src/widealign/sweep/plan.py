"""From experiments to the runs that are still missing, longest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from widealign.experiments import Experiment, Job, Scale, cells, jobs
from widealign.sweep.cost import Clock
from widealign.sweep.store import Contents


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a sweep has to do.

    Attributes:
        todo: Missing runs, longest first; those that need the machine to themselves come last.
        seconds: Estimate for each of them, by id.
        alone: Ids of the runs that need the machine to themselves.
        finished: How many of the wanted runs are finished already.
        damaged: What is wrong with runs that will be done anew, by id.
    """

    todo: tuple[Job, ...]
    seconds: dict[str, float]
    alone: frozenset[str]
    finished: int
    damaged: dict[str, str]

    def wall_seconds(self, workers: int) -> float:
        """Estimate of the whole time on so many workers: the longest run, or the even share, whichever is more."""
        shared = [self.seconds[job.id] for job in self.todo if job.id not in self.alone]
        alone = sum(self.seconds[job.id] for job in self.todo if job.id in self.alone)
        return max(max(shared, default=0.0), sum(shared) / workers) + alone


def wanted(
    experiments: Sequence[Experiment], scale: Scale, seeds: int | None, only: Callable[[Job], bool]
) -> tuple[Job, ...]:
    """Every distinct run that the experiments need: one shared by two tables is there once."""
    every = {job.id: job for experiment in experiments for job in jobs(experiment, scale, seeds)}
    return tuple(job for job in every.values() if only(job))


def plan(
    experiments: Sequence[Experiment],
    scale: Scale,
    contents: Contents,
    clock: Clock,
    *,
    seeds: int | None = None,
    only: Callable[[Job], bool] = lambda job: True,
) -> Plan:
    """The runs that are missing from the store, with their estimated times."""
    every = wanted(experiments, scale, seeds, only)
    missing = [job for job in every if job.id not in contents.finished]
    seconds = {job.id: clock.seconds(job) for job in missing}
    alone = _alone(experiments, scale, seeds) & set(seconds)
    todo = sorted(missing, key=lambda job: (job.id in alone, -seconds[job.id], job.id))
    return Plan(
        todo=tuple(todo),
        seconds=seconds,
        alone=alone,
        finished=len(every) - len(missing),
        damaged={job.id: contents.damaged[job.id] for job in missing if job.id in contents.damaged},
    )


def _alone(experiments: Sequence[Experiment], scale: Scale, seeds: int | None) -> frozenset[str]:
    """Timing runs. A run that a table needs too keeps its place among the timed ones."""
    grids = [grid for experiment in experiments for grid in experiment.grids if grid.alone]
    configs = {config.id for grid in grids for cell in cells(grid, scale, seeds) for config in cell.configs}
    studies = {study.id for e in experiments for study in e.studies.get(scale, ()) if study.kind == "speed"}
    return frozenset(configs | studies)
