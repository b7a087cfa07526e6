"""The Add task: a sequence of bits, and a target that adds two bits of the past."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

NUM_TRAIN, NUM_TEST, STEPS = 300, 100, 100


@dataclass(frozen=True, kw_only=True, eq=False)
class AddTask:
    """Inputs and targets, float32 of shape (sequences, time steps)."""

    train_inputs: Tensor
    train_targets: Tensor
    test_inputs: Tensor
    test_targets: Tensor


def add_task(seed: int = 99, *, correct_targets: bool = False) -> AddTask:
    """Draw 300 training and 100 test sequences of 100 fair bits, from a random stream of its own.

        y_k = 0.5 + 0.5 x_{k-2} - 0.25 x_{k-5}

    Args:
        seed: of the stream; the paper's numbers come from 99.
        correct_targets: True: a bit from before the sequence's start counts as 0 (the sound protocol). False: what the
            authors' script does. There the past wraps around to the sequence's end, and the line that should blank the
            first 2 (5) time steps blanks the first 2 (5) *sequences*.

    Example:
        The constant answer 0.5 gives the chance losses that go with the paper's table, sums over time steps of the
        mean squared error over sequences. They tell the two kinds of targets apart:

        >>> task = add_task(99)
        >>> chance = lambda targets: round(float((targets - 0.5).square().mean(0).sum()), 4)
        >>> chance(task.train_targets), chance(task.test_targets)
        (9.3585, 9.3119)
    """
    bits = np.random.RandomState(seed).binomial(1, 0.5, size=(NUM_TRAIN + NUM_TEST, STEPS)).astype(np.float64)
    past = _shifted if correct_targets else _wrapped
    targets = 0.5 + 0.5 * past(bits, 2) - 0.25 * past(bits, 5)
    inputs, targets = (torch.from_numpy(a.astype(np.float32)) for a in (bits, targets))
    return AddTask(
        train_inputs=inputs[:NUM_TRAIN],
        train_targets=targets[:NUM_TRAIN],
        test_inputs=inputs[NUM_TRAIN:],
        test_targets=targets[NUM_TRAIN:],
    )


def _shifted(bits: np.ndarray, delay: int) -> np.ndarray:
    past = np.roll(bits, delay, axis=1)
    past[:, :delay] = 0
    return past


def _wrapped(bits: np.ndarray, delay: int) -> np.ndarray:
    past = np.roll(bits, delay, axis=1)
    past[:delay] = 0  # rows are sequences: the authors' slip, kept because their numbers contain it
    return past
