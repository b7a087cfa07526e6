import io
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from train.support import small_trial
from widealign.train import Loop
from widealign.train.progress import Line, Quiet, show

pytestmark = pytest.mark.quick


def test_nothing_is_shown_unless_a_person_looks(capsys, monkeypatch):
    loop = Loop(small_trial(epochs=1))
    progress = show(loop, "title")
    assert type(progress) is Quiet
    with progress:
        for event in loop.run():
            progress.event(event)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert type(show(loop, "title")) is Line


@pytest.mark.parametrize("accuracy", [0.25, None])
def test_the_line_tells_epoch_loss_figures_speed_and_time_left_on_80_columns(monkeypatch, accuracy):
    monkeypatch.setattr("widealign.train.progress._REFRESH_SECONDS", 0.0)
    screen = io.StringIO()
    trial = small_trial(epochs=12)
    loop = Loop(replace(trial, evaluate=lambda: {"train_acc": accuracy, "eval_loss": 0.5, "eval_acc": accuracy}))
    line = Line(loop, "digits normal", console=Console(file=screen, force_terminal=True, width=80, color_system=None))
    with line:
        for event in loop.run():
            line.event(event)
    shown = screen.getvalue()
    assert "digits normal\n" in shown.replace("\r", "")
    drawn = next(text for text in reversed(shown.splitlines()) if "epoch 12/12" in text)
    for expected in ("loss 0.", "train 0.25  eval 0.25" if accuracy else "eval_loss 0.5", "samples/s", ":"):
        assert expected in drawn
    assert "…" not in drawn
