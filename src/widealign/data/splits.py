"""Which examples train, which choose, which judge: pure functions of (task, protocol, n, seed)."""

import hashlib
from dataclasses import dataclass
from math import gcd
from typing import Literal

import numpy as np

from widealign.errors import DataError, UsageError

# The paper holds out its first 5000 training images and calls them the test set. Digits has 1297: it keeps 1000.
_HELD_OUT = {"cifar10": 5000, "kmnist": 5000, "fashion-mnist": 5000, "digits": 297}
_VALIDATION_SHARE = 10  # one tenth
_VALIDATION_LEAST = 100  # fewer could not tell two learning rates apart


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Indices (int64) into the training data; those of `evaluation` into `evaluation_source`.

    `validation` chooses learning rate and epoch; it is None where the protocol chooses on `evaluation` itself.
    """

    train: np.ndarray
    validation: np.ndarray | None
    evaluation: np.ndarray
    evaluation_source: Literal["train", "test"]

    @property
    def hash(self) -> str:
        """Equal for equal splits, on every machine. Written into the run's folder."""
        digest = hashlib.sha256(f"split 1 {self.evaluation_source}".encode())
        for name, indices in (("train", self.train), ("validation", self.validation), ("evaluation", self.evaluation)):
            digest.update(f" {name} {'none' if indices is None else len(indices)} ".encode())
            digest.update(b"" if indices is None else np.ascontiguousarray(indices, dtype="<i8").tobytes())
        return digest.hexdigest()[:16]


def split(task: str, protocol: str, n: int | None, seed: int, num_train: int, num_test: int) -> Split:
    """Split a data set by a protocol.

    **paper**: the first 5000 *training* images (digits: 297) are held out and are the evaluation set; the rest train.
    With n: the first n of the rest, and the first min(n, 5000) held out. The real test set and `seed` are not used.
    ImageNet and Add have a test set in the paper too: all training examples train, all test examples evaluate; n takes
    the first n of Add's sequences, and of ImageNet, which is sorted by class, n at even distances.

    **sound**: a permutation of the training data by `seed`; its first tenth validates, the rest may train; the real
    test set evaluates. With n: the first n of the rest train, and the first max(n, 100) of the tenth validate. So for
    one seed, smaller splits are part of larger ones, and no validation image of one is a training image of another.

    Args:
        task: a task's name.
        protocol: "paper" or "sound".
        n: number of training examples wanted; None for all.
        seed: of the permutation.
        num_train: training examples there are.
        num_test: test examples there are.

    Raises:
        UsageError: unknown protocol, or n below 1.
        DataError: there are fewer training examples than asked for.
    """
    if n is not None and n < 1:
        raise UsageError(f"the number of training examples must be at least 1; given {n}")
    if protocol == "sound":
        return _sound(task, n, seed, num_train, num_test)
    if protocol != "paper":
        raise UsageError(f"protocol must be paper or sound; given {protocol!r}")
    return _held_out(task, n, num_train) if task in _HELD_OUT else _with_test_set(task, n, num_train, num_test)


def paper_batch_size(n: int) -> int:
    """The batch size of the paper's Small CIFAR-10: min(100, n), or gcd(100, n) if that does not divide n.

    Example:
        >>> [paper_batch_size(n) for n in (45, 150, 450, 1500, 45000)]
        [45, 50, 50, 100, 100]
    """
    size = min(100, n)
    return size if n % size == 0 else gcd(100, n)


def _held_out(task: str, n: int | None, num_train: int) -> Split:
    held_out = _HELD_OUT[task]
    rest = max(num_train - held_out, 0)
    why = f"the paper protocol holds out the first {held_out}"
    wanted = _available(task, n, rest, f"{num_train} training images, of which {rest} can train: {why}")
    return Split(
        train=np.arange(held_out, held_out + wanted),
        validation=None,
        evaluation=np.arange(held_out if n is None else min(n, held_out)),
        evaluation_source="train",
    )


def _with_test_set(task: str, n: int | None, num_train: int, num_test: int) -> Split:
    wanted = _available(task, n, num_train, f"{num_train} training examples")
    evenly = task == "imagenet"
    return Split(
        train=np.arange(wanted) * num_train // wanted if evenly else np.arange(wanted),
        validation=None,
        evaluation=np.arange(num_test),
        evaluation_source="test",
    )


def _sound(task: str, n: int | None, seed: int, num_train: int, num_test: int) -> Split:
    order = np.random.RandomState(seed).permutation(num_train).astype(np.int64)
    pool = num_train // _VALIDATION_SHARE
    rest = num_train - pool if pool else 0
    why = f"a tenth, {pool}, is kept for validation"
    wanted = _available(task, n, rest, f"{num_train} training examples, of which {rest} can train: {why}")
    return Split(
        train=order[pool : pool + wanted],
        validation=order[: pool if n is None else min(pool, max(n, _VALIDATION_LEAST))],
        evaluation=np.arange(num_test),
        evaluation_source="test",
    )


def _available(task: str, n: int | None, rest: int, there: str) -> int:
    if n is None and rest > 0:
        return rest
    if n is not None and n <= rest:
        return n
    raise DataError(
        f"{task}: {1 if n is None else n} training examples or more are needed, but there are {there}. "
        "Ask for fewer (--data-limit), or fetch the complete data"
    )
