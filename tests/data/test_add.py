"""The Add task's two kinds of targets."""

import numpy as np
import pytest
import torch

from widealign.data import add_task

pytestmark = pytest.mark.quick


def chance(targets: torch.Tensor) -> float:
    """Loss of the constant answer 0.5: sum over time steps of the mean over sequences of the squared error."""
    return (targets.double() - 0.5).square().mean(dim=0).sum().item()


def test_chance_losses_of_the_paper():
    task = add_task(99)
    assert chance(task.train_targets) == pytest.approx(9.3585, abs=5e-5)
    assert chance(task.test_targets) == pytest.approx(9.3119, abs=5e-5)


def test_correct_targets_have_other_chance_losses():
    task = add_task(99, correct_targets=True)
    assert abs(chance(task.train_targets) - 9.3585) > 0.05
    assert abs(chance(task.test_targets) - 9.3119) > 0.05


def test_correct_targets_look_back_and_count_nothing_before_the_start():
    task = add_task(5, correct_targets=True)
    x, y = task.train_inputs, task.train_targets
    assert torch.equal(y[:, :2], torch.full((300, 2), 0.5))
    assert torch.equal(y[:, 2:5], 0.5 + 0.5 * x[:, 0:3])
    assert torch.equal(y[:, 5:], 0.5 + 0.5 * x[:, 3:98] - 0.25 * x[:, :95])


def test_paper_targets_wrap_around_and_blank_sequences():
    task = add_task(99)
    x, y = task.train_inputs, task.train_targets
    assert torch.equal(y[:2], torch.full((2, 100), 0.5))
    assert torch.equal(y[2:5], 0.5 + 0.5 * x[2:5].roll(2, 1))
    assert torch.equal(y[5:], 0.5 + 0.5 * x[5:].roll(2, 1) - 0.25 * x[5:].roll(5, 1))
    assert torch.equal(
        task.test_targets[0], 0.5 + 0.5 * task.test_inputs[0].roll(2) - 0.25 * task.test_inputs[0].roll(5)
    )


def test_shapes_types_and_random_stream():
    np.random.seed(1)
    expected = np.random.RandomState(7).binomial(1, 0.5, size=(400, 100))
    task = add_task(7)
    assert np.array_equal(torch.cat([task.train_inputs, task.test_inputs]).numpy(), expected)
    assert {t.dtype for t in vars(task).values()} == {torch.float32}
    assert (task.train_targets.shape, task.test_targets.shape) == ((300, 100), (100, 100))
    assert np.random.random_sample() == np.random.RandomState(1).random_sample()
