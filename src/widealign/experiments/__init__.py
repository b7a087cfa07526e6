"""The paper's tables and figures and our own, as data. Imports no torch."""

from widealign.experiments.cells import Cell, Runs, Value, cells, jobs, value
from widealign.experiments.claims import Claim, Number, Results, Verdict
from widealign.experiments.intervals import half_interval
from widealign.experiments.measures import Measure, Run, thinned
from widealign.experiments.paper_numbers import lookup
from widealign.experiments.registry import experiments, find, select
from widealign.experiments.spec import SCALES, Budget, Experiment, Grid, Job, Line, Panel, Rates, Scale
from widealign.experiments.study import Study

__all__ = [
    "SCALES",
    "Budget",
    "Cell",
    "Claim",
    "Experiment",
    "Grid",
    "Job",
    "Line",
    "Measure",
    "Number",
    "Panel",
    "Rates",
    "Results",
    "Run",
    "Runs",
    "Scale",
    "Study",
    "Value",
    "Verdict",
    "cells",
    "experiments",
    "find",
    "half_interval",
    "jobs",
    "lookup",
    "select",
    "thinned",
    "value",
]
