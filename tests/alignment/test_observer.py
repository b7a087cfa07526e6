"""What `widealign align` writes, against the authors' own script."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

import widealign
from widealign.alignment import AlignmentObserver
from widealign.models import CNN, cifar_cnn, mlp
from widealign.rules import make

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "alignment_cifar10_width8_n1500.json").read_text())[0]
DATA = Path.home() / ".cache" / "widealign" / "cifar-10-batches-bin" / "data_batch_1.bin"
HELD_OUT = 5000


class Given(NamedTuple):
    """As the training loop's batch."""

    inputs: Tensor


def cifar(count: int) -> tuple[Tensor, Tensor]:
    rows = np.fromfile(DATA, dtype=np.uint8).reshape(-1, 3073)[HELD_OUT : HELD_OUT + count]
    images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy()).float() / 255
    classes = torch.from_numpy(rows[:, 0].astype(np.int64))
    return images, torch.nn.functional.one_hot(classes, 10).float() - 0.1


def draw_as_the_scripts(model: CNN) -> None:
    stream = np.random.RandomState(99)
    with torch.no_grad():
        for layer in model.layers:
            out, channels, k, _ = layer.conv.weight.shape
            drawn = stream.normal(scale=1, size=(out, k * k * channels)).T.reshape(k, k, channels, out)
            layer.conv.weight.copy_(torch.from_numpy(drawn.transpose(3, 2, 0, 1).copy()))
        drawn = stream.normal(size=tuple(model.readout.weight.shape))
        model.readout.weight.copy_(torch.from_numpy(drawn))


@pytest.mark.data
def test_scores_and_baseline_are_those_of_the_authors_script() -> None:
    if not DATA.exists():
        pytest.skip(f"{DATA} is missing: run `widealign data fetch cifar10`")
    images, targets = cifar(GOLDEN["n"])
    model = cifar_cnn(GOLDEN["width"])
    draw_as_the_scripts(model)
    learner = make("normal", model)
    optimizer = torch.optim.SGD(model.parameters(), lr=GOLDEN["lr"])
    observer = AlignmentObserver(learner, optimizer)
    stream = np.random.RandomState(99)
    for _ in range(GOLDEN["epochs"]):
        for rows in torch.from_numpy(stream.permutation(GOLDEN["n"])).split(100):
            optimizer.zero_grad()
            output = learner(images[rows])
            widealign.mse(output, targets[rows]).backward()
            observer.before_update(Given(images[rows]), output)
            optimizer.step()
        stream.permutation(GOLDEN["n"])  # the evaluation's
    records = list(observer.records(GOLDEN["epochs"]))
    assert [record["layer"] for record in records] == list(range(1, 8))
    assert [record["score_probe"] for record in records] == pytest.approx(GOLDEN["score"], abs=2e-3)
    assert [record["score_permuted"] for record in records] == pytest.approx(GOLDEN["permuted"], abs=5e-3)
    assert all(0.9 < record["score"] <= 1 for record in records)


@pytest.mark.quick
def test_records_of_a_network_without_convolutions_and_resumption() -> None:
    torch.manual_seed(0)
    model = mlp(4, [6], 2)
    learner = make("normal", model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    observer = AlignmentObserver(learner, optimizer, as_scripts=False, seed=3)
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    for _ in range(4):
        optimizer.zero_grad()
        output = learner(x)
        widealign.mse(output, y).backward()
        observer.before_update(Given(x), output)
        optimizer.step()
    records = list(observer.records(1))
    assert [set(record) for record in records] == [
        {"kind", "epoch", "layer", "score", "score_probe", "score_permuted"}
    ] * 2
    assert [record["score_probe"] for record in records] == pytest.approx([r["score"] for r in records], abs=0.02)
    again = AlignmentObserver(learner, optimizer, as_scripts=False, seed=3)
    again.load_state_dict(_through_a_file(observer.state_dict()))
    assert list(again.records(1)) == records


def _through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    import io

    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)
