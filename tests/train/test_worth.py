"""The test set is looked at only where its figure can be reported, and what is reported stays the same."""

from dataclasses import replace

import pytest

from train.synthetic import kmnist_files
from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train import Options, resolve, run
from widealign.train.metrics import read
from widealign.train.protocols.worth import Worth

pytestmark = pytest.mark.filterwarnings("ignore::widealign.data.UnverifiedDataWarning")


def asked(figure: str, values: list[float], **options) -> list[bool]:
    worth = Worth(figure, epochs=len(values), always=False, **options)
    return [worth.testing(value) for value in values]


@pytest.mark.quick
def test_only_the_best_so_far_and_the_last():
    assert asked("val_acc", [0.1, 0.3, 0.3, 0.2, 0.4, 0.4]) == [True, True, False, False, True, True]
    assert asked("val_loss", [3.0, 4.0, 2.0, 2.5]) == [True, False, True, True]


@pytest.mark.quick
def test_goes_on_from_its_state():
    first, second = (Worth("val_acc", epochs=3, always=False) for _ in range(2))
    first.testing(0.5)
    second.load_state_dict(first.state_dict())
    assert [second.testing(0.4), second.testing(0.3)] == [False, True]


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
    lines = list(read(tmp_path / "chosen-epochs" / "metrics.jsonl", "epoch"))
    assert any(line["eval_acc"] is None for line in lines)
    assert all(line["val_acc"] is not None for line in lines)


@pytest.mark.quick
def test_the_paper_protocol_chooses_on_every_evaluation():
    with pytest.raises(UsageError, match="--evaluated chosen-epochs needs --protocol sound"):
        resolve(RunConfig(task="digits", rule="normal", width=8, lr=1.0, evaluated="chosen-epochs"))
