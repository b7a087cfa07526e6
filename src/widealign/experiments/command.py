"""`widealign list`."""

from importlib import import_module
from typing import get_args

from rich.console import Console
from rich.table import Table

from widealign.config import Task
from widealign.experiments.cells import jobs
from widealign.experiments.registry import experiments
from widealign.experiments.spec import SCALES


def list_all() -> None:
    """List tables and figures with the runs that each needs, rules and tasks."""
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("id", no_wrap=True)
    table.add_column("what")
    for scale in SCALES:
        table.add_column(scale, justify="right", no_wrap=True)
    for experiment in experiments().values():
        counts = [str(len(jobs(experiment, scale)) or "–") for scale in SCALES]
        table.add_row(experiment.id, experiment.title, *counts)
    console.print(table)
    console.print(f"\nThe numbers are runs at each scale; `widealign reproduce ID --scale {SCALES[0]}` does them.")
    console.print("A run that several tables share is done once.\n")
    console.print(f"rules  {' '.join(import_module('widealign.rules').names())}", soft_wrap=True)
    console.print(f"tasks  {' '.join(get_args(Task))}", soft_wrap=True)
