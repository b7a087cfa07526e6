"""Smoke scale, really trained on made-up data: one run of every grid of every experiment, read back by its cell."""

import importlib.util
import sys
from pathlib import Path

import pytest

from widealign.config import RunConfig
from widealign.experiments import cells, experiments, find
from widealign.report.filled import blocks
from widealign.sweep.cost import work
from widealign.sweep.jobs import to_json
from widealign.sweep.launch import Launcher
from widealign.sweep.runners import DataAccess, perform
from widealign.sweep.store import Store, write_json

NAMES = [name for name, experiment in experiments().items() if experiment.grids and experiment.in_all]


def _builders():
    path = Path(__file__).parent.parent / "data" / "builders.py"
    spec = importlib.util.spec_from_file_location("data_builders", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> DataAccess:
    root, build = tmp_path_factory.mktemp("data"), _builders()
    build.write_cifar(root / "cifar-10-batches-bin", per_file=1100)
    for name in ("kmnist", "fashion-mnist"):
        build.write_kmnist(root / name, num_train=5200, num_test=100)
    build.write_photos(root / "imagenet", each=100)
    return DataAccess(data_dir=str(root), allow_unverified=True)


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_every_grid_can_be_filled(name, data, store):
    chosen = {grid.name: min(cells(grid, "smoke"), key=lambda cell: work(cell.configs[0])) for grid in find(name).grids}
    for cell in chosen.values():
        folder = store.folder(cell.configs[0])
        folder.mkdir(exist_ok=True)
        write_json(folder / "job.json", to_json(cell.configs[0]))
        perform(cell.configs[0], folder, data)
    [block] = blocks(find(name), store.read(), only="smoke")
    for grid, cell in chosen.items():
        [filled] = [f for f in block.grids[grid].cells if (f.cell.row, f.cell.column) == (cell.row, cell.column)]
        assert filled.value.mean is not None
        assert filled.value.finished >= 1


def test_a_lost_or_damaged_checkpoint_is_told_and_the_run_ends_as_it_would_have(store):
    job = RunConfig(task="digits", rule="fa", width=8, lr=1.0, epochs=3, threads=1)
    launch, folder = Launcher(store=store.path), store.folder(job)
    assert launch(job).notes == ()
    whole = (folder / "metrics.jsonl").read_bytes()
    for harm, words in (
        (lambda path: path.write_bytes(b"half"), "is damaged"),
        (lambda path: path.unlink(), "missing"),
    ):
        (folder / "result.json").unlink()
        for path in folder.glob("checkpoints/*"):
            harm(path)
        outcome = launch(job)
        assert words in " ".join(outcome.notes)
        assert (folder / "metrics.jsonl").read_bytes() == whole
