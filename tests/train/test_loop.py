import io

import pytest
import torch
from torch import nn

from train.support import small_trial
from widealign import rules
from widealign.losses import mse
from widealign.train import EpochEnd, Loop, Steps, Stream

pytestmark = pytest.mark.quick


def _plain(events) -> list:
    return [(e.first, e.losses) if isinstance(e, Steps) else (e.epoch, e.figures, e.records) for e in events]


def _weights(loop: Loop) -> list:
    state = loop.trial.learner.state_dict()
    return [(name, value.tolist() if isinstance(value, torch.Tensor) else value) for name, value in state.items()]


def test_it_trains_as_a_loop_written_by_hand():
    loop = Loop(small_trial("normal", epochs=2))
    events = list(loop.run())
    trial = small_trial("normal", epochs=2)
    data, model, stream, step = trial.examples, trial.learner.model, Stream(3), 0
    torch.manual_seed(2)  # as in small_trial: where the weights left off, dropout goes on
    nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        losses, correct = [], 0
        model.train()
        for rows in stream.permutation(23)[:20].split(5):
            optimizer.param_groups[0]["lr"] = 0.1 * 0.9**step
            optimizer.zero_grad()
            output = model(data.inputs[rows])
            loss = mse(output, data.targets[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            correct += int((output.argmax(1) == data.labels[rows]).sum())
            step += 1
        model.eval()
        rows = stream.permutation(23)[:10]
        with torch.no_grad():
            evaluated = mse(model(data.inputs[rows]), data.targets[rows]).item()
        *steps, end = events[5 * epoch : 5 * epoch + 5]
        assert [loss for event in steps for loss in event.losses] == losses
        assert [event.first for event in steps] == list(range(4 * epoch + 1, 4 * epoch + 5))
        assert end.figures["train_loss"] == pytest.approx(sum(losses) / 4, rel=1e-12)
        assert (end.figures["train_acc"], end.figures["eval_loss"]) == (correct / 20, evaluated)


@pytest.mark.parametrize(
    ("cut", "rule"), [*((cut, "align-ada") for cut in range(1, 15)), *((7, rule) for rule in rules.names())]
)
def test_a_state_taken_after_any_event_gives_the_rest_bit_for_bit(cut, rule):
    whole = Loop(small_trial(rule))
    expected = _plain(whole.run())
    first = Loop(small_trial(rule))
    events = first.run()
    begun = _plain(next(events) for _ in range(cut))
    buffer = io.BytesIO()
    torch.save(first.state_dict(), buffer)
    list(events)  # the first loop goes on, and must not disturb what was saved
    buffer.seek(0)
    second = Loop(small_trial(rule))
    torch.manual_seed(12345)
    second.load_state_dict(torch.load(buffer, weights_only=True))
    assert begun + _plain(second.run()) == expected
    assert _weights(second) == _weights(whole)


def test_steps_seen_several_at_a_time_are_the_same_steps(monkeypatch):
    singly = [e for e in Loop(small_trial()).run() if isinstance(e, Steps)]
    loop = Loop(small_trial())
    loop._look_every = 3  # what a GPU does, with 20
    together = [e for e in loop.run() if isinstance(e, Steps)]
    assert [len(e.losses) for e in together] == [3, 1] * 3
    assert [loss for e in together for loss in e.losses] == [loss for e in singly for loss in e.losses]
    assert [e.first for e in together] == [1, 4, 5, 8, 9, 12]


def test_a_pause_brings_the_event_at_once():
    loop = Loop(small_trial(), paused=lambda: loop.step >= 1)
    loop._look_every = 100
    assert [e.first for e in loop.run() if isinstance(e, Steps)][:2] == [1, 3]


def test_observers_see_every_batch_and_write_after_every_epoch():
    loop = Loop(small_trial(epochs=2))
    ends = [e for e in loop.run() if isinstance(e, EpochEnd)]
    assert [record["epoch"] for end in ends for record in end.records] == [1, 2]
    assert all(record["total"] != 0 for end in ends for record in end.records)
