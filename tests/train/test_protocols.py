import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from train.synthetic import image_folder, kmnist_files
from widealign.config import RunConfig
from widealign.data import load, split
from widealign.errors import UsageError
from widealign.losses import mse
from widealign.nn import BatchAxisNorm
from widealign.train import EpochEnd, Loop, Options, Steps, prepare, resolve, run
from widealign.train.protocols.prepared import evaluate

pytestmark = pytest.mark.filterwarnings("ignore::widealign.data.UnverifiedDataWarning")

_CPU = torch.device("cpu")
_KMNIST = RunConfig(
    task="kmnist", rule="align-ada", width=4, lr=1.0, epochs=3, protocol="sound", data_limit=150, threads=1
)


@pytest.fixture(scope="module")
def kmnist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kmnist")
    kmnist_files(folder, train=5600, test=130)
    return folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    image_folder(folder, train=10, test=3)
    return folder


def _prepared(config, folder=None):
    return prepare(resolve(config), device=_CPU, data_dir=folder, allow_unverified=True)


def _epochs(out):
    records = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [record for record in records if record["kind"] == "epoch"]


def test_sound_evaluation_does_not_depend_on_how_images_are_batched(kmnist):
    trial = _prepared(_KMNIST, kmnist).trial
    next(event for event in Loop(trial).run() if isinstance(event, EpochEnd))
    test = load("kmnist", data_dir=kmnist, allow_unverified=True)
    images = test.test_images.float() / 255
    with torch.no_grad():
        together = trial.learner(images)
        singly = torch.cat([trial.learner(image[None]) for image in images])
    assert torch.allclose(together, singly, atol=1e-5)
    assert together.std(0).min() > 1e-3  # not a constant


def test_sound_evaluation_normalises_by_training_data(kmnist):
    trial = _prepared(_KMNIST, kmnist).trial
    next(event for event in Loop(trial).run() if isinstance(event, EpochEnd))
    model = trial.learner.model
    data = load("kmnist", data_dir=kmnist, allow_unverified=True)
    rows = split("kmnist", "sound", 150, 99, 5600, 130).train
    first = next(module for module in model.modules() if isinstance(module, BatchAxisNorm))
    with torch.no_grad():
        before = model.layers[0].conv(model.layers[0].pad(data.train_images[rows].float() / 255)).double()
    mean, variance = first.statistics
    assert torch.allclose(mean.double(), before.mean(0), atol=1e-5)
    assert torch.allclose(variance.double(), before.var(0, correction=0), atol=1e-5)


def test_sound_uses_the_real_test_set_and_chooses_the_epoch_by_validation(kmnist, tmp_path):
    result = run(_KMNIST, tmp_path, Options(data_dir=kmnist, allow_unverified=True))
    epochs = _epochs(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["sizes"] == {
        "train": 150, "validation": 150, "evaluation": 130, "steps_per_epoch": 3,
    }  # fmt: skip
    chosen = max(epochs, key=lambda line: line["val_acc"])
    assert result["best"] == {name: value for name, value in chosen.items() if name not in ("kind", "epoch")}
    assert set(result["best_epoch"].values()) == {chosen["epoch"]}
    assert result["last"]["eval_acc"] == epochs[-1]["eval_acc"]


def test_paper_evaluation_takes_whole_batches_of_a_fresh_permutation_with_their_own_statistics(kmnist):
    config = replace(_KMNIST, protocol="paper", rule="normal", data_limit=130, batch_size=50, epochs=1)
    prepared = _prepared(config, kmnist)
    trial = prepared.trial
    (end,) = [event for event in Loop(trial).run() if isinstance(event, EpochEnd)]
    assert prepared.description["sizes"]["evaluation"] == 100
    stream = np.random.RandomState(99)
    stream.permutation(130)  # the epoch's own
    order = stream.permutation(130)[:100]
    data = load("kmnist", data_dir=kmnist, allow_unverified=True)
    loss, correct = 0.0, 0
    for rows in order.reshape(2, 50):
        with torch.no_grad():
            output = trial.learner.model(data.train_images[rows].float() / 255)
        targets = torch.nn.functional.one_hot(data.train_labels[rows], 10) - 0.1
        loss += mse(output, targets).item() / 2
        correct += int((output.argmax(1) == data.train_labels[rows]).sum())
    assert end.figures["eval_loss"] == pytest.approx(loss, rel=1e-5)
    assert end.figures["eval_acc"] == correct / 100


def test_both_protocols_give_other_numbers_for_another_seed_only(kmnist):
    def first_loss(**settings):
        trial = _prepared(replace(_KMNIST, **settings), kmnist).trial
        return next(event for event in Loop(trial).run() if isinstance(event, Steps)).losses

    for protocol in ("paper", "sound"):
        assert first_loss(protocol=protocol) == first_loss(protocol=protocol)
        assert first_loss(protocol=protocol) != first_loss(protocol=protocol, seed=100)


def test_the_data_may_be_too_few_for_a_batch(kmnist):
    with pytest.raises(
        UsageError, match="a batch holds 1000 examples, but only 600 train: give a smaller --batch-size"
    ):
        _prepared(replace(_KMNIST, protocol="paper", data_limit=None, batch_size=1000), kmnist)


@pytest.mark.parametrize("protocol", ["paper", "sound"])
def test_the_add_task_goes_by_the_protocols_targets(protocol):
    config = RunConfig(task="add", rule="normal", width=8, lr=0.001, protocol=protocol, epochs=1)
    prepared = _prepared(config)
    examples = prepared.trial.examples
    batch = next(examples.batches(torch.arange(10), 10))
    delayed = torch.zeros_like(batch.inputs)
    delayed[:, 2:] += 0.5 * batch.inputs[:, :-2]
    delayed[:, 5:] -= 0.25 * batch.inputs[:, :-5]
    as_a_person_would = (batch.targets - 0.5 - delayed).abs().max() < 1e-6
    assert bool(as_a_person_would) == (protocol == "sound")
    assert prepared.criterion.figure == ("eval_loss" if protocol == "paper" else "val_loss")
    assert prepared.criterion.same_epoch == (protocol == "sound")


def test_add_under_the_paper_protocol_walks_test_then_training_sequences():
    config = RunConfig(task="add", rule="normal", width=8, lr=0.001, epochs=1, threads=1)
    trial = _prepared(config).trial
    (end,) = [event for event in Loop(trial).run() if isinstance(event, EpochEnd)]
    stream = np.random.RandomState(99)
    stream.permutation(300)
    stream.permutation(100)
    order = torch.from_numpy(stream.permutation(300))
    with torch.no_grad():
        loss, accuracy = evaluate(trial.learner, trial.loss, trial.examples.batches(order, 50))
    assert end.figures["train_loss"] == pytest.approx(loss, rel=1e-6)
    assert accuracy is None
    assert end.figures["train_acc"] is None


def test_readout_only_on_add_also_trains_the_initial_state():
    config = RunConfig(task="add", rule="last-layer", width=8, lr=0.001, epochs=1)
    trial = _prepared(config).trial
    model = trial.learner.model
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    list(Loop(trial).run())
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {"initial_state.value", "readout.weight", "readout.bias"}


def test_an_image_folder_trains_and_goes_on_from_the_middle_of_an_epoch(photos):
    config = RunConfig(
        task="imagenet", rule="align-ada", width=2, lr=0.5, epochs=2, batch_size=5, threads=1, data_limit=15
    )
    whole = Loop(_prepared(config, photos).trial)
    events = list(whole.run())
    losses = [event.losses for event in events if isinstance(event, Steps)]
    assert len(losses) == 6
    first = Loop(_prepared(config, photos).trial)
    running = first.run()
    assert [next(running).losses for _ in range(2)] == losses[:2]
    second = Loop(_prepared(config, photos).trial)
    second.load_state_dict(first.state_dict())
    rest = [event for event in second.run() if isinstance(event, Steps)]
    assert [event.losses for event in rest] == losses[2:]
    figures = [event.figures for event in events if isinstance(event, EpochEnd)]
    assert all(figure["eval_acc"] * 5 % 1 == pytest.approx(0, abs=1e-9) for figure in figures)


def test_imagenets_targets_are_one_and_zero_and_dfa_is_shared_over_locations(photos):
    config = RunConfig(task="imagenet", rule="dfa", width=2, lr=0.5, batch_size=5, data_limit=15)
    trial = _prepared(config, photos).trial
    batch = next(trial.examples.batches(torch.arange(5), 5, epoch=1))
    assert batch.inputs.shape == (5, 3, 224, 224)
    assert set(batch.targets.unique().tolist()) == {0.0, 1.0}
    assert {tuple(matrix.shape) for matrix in trial.learner.feedback.values()} == {(2, 2)}
