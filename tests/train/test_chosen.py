"""The test set is looked at only where its figure can be reported, and what is reported stays the same."""

import math
from dataclasses import replace

import pytest
from torch import nn

from train.synthetic import kmnist_files
from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train import Options, resolve, run
from widealign.train.metrics import read
from widealign.train.protocols.chosen import ChosenEpoch

pytestmark = pytest.mark.filterwarnings("ignore::widealign.data.UnverifiedDataWarning")


def offered(figure: str, values: list[float]) -> tuple[nn.Module, ChosenEpoch]:
    """A model whose weight is the number of the epoch, after an epoch for each validation figure."""
    model = nn.Linear(1, 1, bias=False)
    chosen = ChosenEpoch(model, figure)
    for epoch, value in enumerate(values, 1):
        nn.init.constant_(model.weight, epoch)
        chosen.offer(value)
    return model, chosen


@pytest.mark.quick
@pytest.mark.parametrize(
    ("figure", "values", "epoch"),
    [("val_acc", [0.1, 0.3, 0.3, 0.2], 2), ("val_loss", [3.0, 4.0, 2.0, 2.5], 3), ("val_acc", [0.2, math.nan], 1)],
)
def test_keeps_the_weights_of_the_first_best_epoch(figure, values, epoch):
    model, chosen = offered(figure, values)
    assert chosen.epoch == epoch
    chosen.swap()
    assert model.weight.item() == epoch
    chosen.swap()
    assert model.weight.item() == len(values)


@pytest.mark.quick
def test_goes_on_from_its_state():
    _, first = offered("val_acc", [0.5, 0.2])
    model, second = offered("val_acc", [])
    second.load_state_dict(first.state_dict())
    second.offer(0.4)
    second.swap()
    assert (second.seen, second.epoch, model.weight.item()) == (3, 1, 1.0)


def test_best_and_last_are_those_of_testing_every_epoch(tmp_path):
    kmnist_files(tmp_path, train=5600, test=130)
    every = RunConfig(
        task="kmnist", rule="align-ada", width=4, lr=1.0, epochs=8, protocol="sound", data_limit=150, threads=1
    )
    options = Options(data_dir=tmp_path, allow_unverified=True)
    full, sparse = (
        run(config, tmp_path / config.evaluated, options)
        for config in (every, replace(every, evaluated="chosen-epochs"))
    )
    assert full["best"] == sparse["best"]
    assert full["last"] == sparse["last"]
    assert full["best_epoch"] == sparse["best_epoch"]
    lines = list(read(tmp_path / "chosen-epochs" / "metrics.jsonl", "epoch"))
    assert all(line["eval_acc"] is None for line in lines[:-1])
    assert all(line["val_acc"] is not None for line in lines)
    [late] = read(tmp_path / "chosen-epochs" / "metrics.jsonl", "test")
    assert late["epoch"] == full["best_epoch"]["eval_acc"]


def test_a_run_that_diverges_has_its_chosen_epoch_tested(tmp_path):
    kmnist_files(tmp_path, train=5600, test=130)
    config = RunConfig(
        task="kmnist", rule="normal", width=4, lr=1e4, epochs=30, protocol="sound", data_limit=150, threads=1
    )
    options = Options(data_dir=tmp_path, allow_unverified=True)
    full, sparse = (
        run(c, tmp_path / c.evaluated, options) for c in (config, replace(config, evaluated="chosen-epochs"))
    )
    assert full["status"] == sparse["status"] == "diverged"
    assert full["best"] == sparse["best"]
    assert full["best"]["eval_acc"] is not None


@pytest.mark.quick
def test_the_paper_protocol_chooses_on_every_evaluation():
    with pytest.raises(UsageError, match="--evaluated chosen-epochs needs --protocol sound"):
        resolve(RunConfig(task="digits", rule="normal", width=8, lr=1.0, evaluated="chosen-epochs"))
