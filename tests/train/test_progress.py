import io
import sys

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


def test_the_line_tells_epoch_loss_figures_and_speed(monkeypatch):
    monkeypatch.setattr("widealign.train.progress._REFRESH_SECONDS", 0.0)
    screen = io.StringIO()
    loop = Loop(small_trial(epochs=2))
    line = Line(loop, "digits normal", console=Console(file=screen, force_terminal=True, width=200))
    with line:
        for event in loop.run():
            line.event(event)
    shown = screen.getvalue()
    for expected in ("digits normal", "epoch 2/2", "loss 0.", "eval_loss 0.", "examples/s"):
        assert expected in shown
