"""Splits of both protocols."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widealign.data import Split, paper_batch_size, split
from widealign.errors import DataError, UsageError

pytestmark = pytest.mark.quick


def test_paper_holds_out_the_first_5000_training_images():
    whole = split("cifar10", "paper", None, 99, 50000, 10000)
    assert whole.train.tolist() == list(range(5000, 50000))
    assert whole.evaluation.tolist() == list(range(5000))
    assert (whole.validation, whole.evaluation_source) == (None, "train")
    assert len(split("kmnist", "paper", None, 99, 60000, 10000).train) == 55000


@pytest.mark.parametrize(("n", "evaluated"), [(45, 45), (1500, 1500), (4500, 4500), (15000, 5000), (45000, 5000)])
def test_paper_with_n_takes_the_first_n_and_the_first_min_n_5000(n, evaluated):
    small = split("cifar10", "paper", n, 99, 50000, 10000)
    assert small.train.tolist() == list(range(5000, 5000 + n))
    assert small.evaluation.tolist() == list(range(evaluated))


def test_paper_does_not_depend_on_the_seed_and_sound_does():
    assert split("kmnist", "paper", 9, 1, 60000, 10000).hash == split("kmnist", "paper", 9, 2, 60000, 10000).hash
    assert split("kmnist", "sound", 9, 1, 60000, 10000).hash != split("kmnist", "sound", 9, 2, 60000, 10000).hash


def test_paper_on_digits_holds_out_297():
    digits = split("digits", "paper", None, 99, 1297, 500)
    assert digits.train.tolist() == list(range(297, 1297))
    assert digits.evaluation.tolist() == list(range(297))


def test_paper_on_add_and_imagenet_evaluates_the_test_set():
    add = split("add", "paper", None, 99, 300, 100)
    assert (add.train.tolist(), add.evaluation.tolist()) == (list(range(300)), list(range(100)))
    assert add.evaluation_source == "test"
    assert split("add", "paper", 10, 99, 300, 100).train.tolist() == list(range(10))
    assert split("imagenet", "paper", 4, 99, 12, 6).train.tolist() == [0, 3, 6, 9]
    assert split("imagenet", "paper", None, 99, 12, 6).train.tolist() == list(range(12))


@given(st.integers(1, 900), st.integers(0, 2**32 - 1), st.integers(0, 200))
def test_sound_parts_are_disjoint_and_nested(n, seed, more):
    small = split("cifar10", "sound", n, seed, 1500, 10)
    large = split("cifar10", "sound", n + more, seed, 1500, 10)
    assert len(small.train) == n
    assert small.train.tolist() == large.train[:n].tolist()
    assert small.validation.tolist() == large.validation[: len(small.validation)].tolist()
    assert not set(large.train) & set(large.validation)
    assert len(small.validation) == min(150, max(n, 100))
    assert small.evaluation_source == "test"
    assert small.evaluation.tolist() == list(range(10))


def test_sound_uses_all_training_data():
    whole = split("fashion-mnist", "sound", None, 3, 60000, 10000)
    assert (len(whole.train), len(whole.validation), len(whole.evaluation)) == (54000, 6000, 10000)
    assert sorted([*whole.train, *whole.validation]) == list(range(60000))
    assert whole.train.dtype == whole.validation.dtype == np.int64


def test_sound_leaves_the_global_random_stream_alone():
    before = np.random.get_state()[1].copy()
    split("cifar10", "sound", None, 3, 1000, 10)
    assert np.array_equal(before, np.random.get_state()[1])


def test_hash_is_fixed_and_sees_every_part():
    a, b = np.arange(3), np.arange(4)
    parts = Split(train=a, validation=None, evaluation=b, evaluation_source="test")
    assert parts.hash == Split(train=a.copy(), validation=None, evaluation=b.copy(), evaluation_source="test").hash
    assert parts.hash == HASH
    others = [
        Split(train=b, validation=None, evaluation=b, evaluation_source="test"),
        Split(train=a[::-1], validation=None, evaluation=b, evaluation_source="test"),
        Split(train=a, validation=a, evaluation=b, evaluation_source="test"),
        Split(train=a, validation=a[:0], evaluation=b, evaluation_source="test"),
        Split(train=a, validation=None, evaluation=a, evaluation_source="test"),
        Split(train=a, validation=None, evaluation=b, evaluation_source="train"),
    ]
    assert len({parts.hash, *(other.hash for other in others)}) == 7


HASH = "f77bd85731579c82"  # stored in the folders of earlier runs: it must not change


@pytest.mark.parametrize(
    ("task", "protocol", "n", "num_train", "message"),
    [
        ("kmnist", "paper", 3000, 7011, r"kmnist: 3000 .* needed, but there are 7011 .* 2011 can train.*first 5000"),
        ("kmnist", "paper", None, 5000, r"kmnist: 1 training examples or more are needed, but there are 5000"),
        ("kmnist", "paper", None, 10, r"10 training images, of which 0 can train"),
        ("kmnist", "sound", 6311, 7011, r"6311 .* needed, but there are 7011 .* of which 6310 .* a tenth, 701,"),
        ("kmnist", "sound", None, 9, r"9 training examples, of which 0 can train"),
        ("add", "paper", 301, 300, r"add: 301 .* there are 300 training examples\. Ask for fewer"),
    ],
)
def test_too_few_training_examples(task, protocol, n, num_train, message):
    with pytest.raises(DataError, match=message):
        split(task, protocol, n, 99, num_train, 100)


def test_partial_kmnist_just_fits():
    assert split("kmnist", "paper", 2011, 99, 7011, 10000).train[-1] == 7010
    assert len(split("kmnist", "sound", 6310, 99, 7011, 10000).train) == 6310


def test_wrong_arguments():
    with pytest.raises(UsageError, match="at least 1; given 0"):
        split("cifar10", "paper", 0, 99, 50000, 10000)
    with pytest.raises(UsageError, match="protocol must be paper or sound; given 'Paper'"):
        split("cifar10", "Paper", None, 99, 50000, 10000)


@given(st.integers(1, 100_000))
def test_paper_batch_size_divides_n(n):
    size = paper_batch_size(n)
    assert 1 <= size <= 100
    assert n % size == 0


def test_paper_batch_size_of_the_papers_sizes():
    sizes = {n: paper_batch_size(n) for n in (45, 150, 450, 1500, 4500, 15000, 45000)}
    assert sizes == {45: 45, 150: 50, 450: 50, 1500: 100, 4500: 100, 15000: 100, 45000: 100}
