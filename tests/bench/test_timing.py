"""Who is timed when, and what becomes of the times."""

from collections import Counter
from itertools import pairwise

import pytest

from widealign.bench.timing import Effort, in_turn, orders, summary

pytestmark = pytest.mark.quick


class World:
    """Steps that take a known time by a clock that only they move."""

    def __init__(self, **seconds: float):
        self.now, self.log = 0.0, []
        self.steps = {name: self._step(name, time) for name, time in seconds.items()}

    def _step(self, name: str, seconds: float):
        def step() -> None:
            self.log.append(name)
            self.now += seconds

        return step


def test_every_round_has_everybody_once():
    assert all(sorted(order) == list("abcd") for order in orders("abcd", 9))


def test_nobody_is_always_first_and_nobody_always_follows_the_same_one():
    rounds = list(orders("abcd", 8))
    assert Counter(order[0] for order in rounds) == dict.fromkeys("abcd", 2)
    before = {(one, next_one) for order in rounds for one, next_one in pairwise(order)}
    assert {one for one, after in before if after == "b"} == {"a", "c"}, "its neighbours, from both sides"


def test_contenders_take_turns():
    world = World(slow=0.2, fast=0.1)
    in_turn(world.steps, Effort(seconds=0.0, turn=0.1, rounds=(3, 3)), lambda: world.now)
    assert world.log == ["slow", "fast", "slow", "fast", "fast", "slow", "fast", "slow"]


def test_times_are_those_of_one_step():
    world = World(slow=0.5, fast=0.01)
    found = in_turn(world.steps, Effort(seconds=1.0, turn=0.1), lambda: world.now)
    assert found["slow"].median == pytest.approx(0.5)
    assert found["fast"].median == pytest.approx(0.01)
    assert found["fast"].spread == pytest.approx(0.0, abs=1e-12)
    assert found["fast"].turns == 7


def test_short_steps_are_repeated_after_one_that_does_not_count():
    world = World(short=0.01)
    in_turn(world.steps, Effort(seconds=0.0, turn=0.05, rounds=(2, 2)), lambda: world.now)
    assert len(world.log) == 1 + 2 * (1 + 5)


def test_more_time_gives_more_rounds_up_to_the_most():
    world = World(one=0.1)
    found = [in_turn(world.steps, Effort(seconds=s, turn=0.1, rounds=(2, 9)), lambda: world.now) for s in (0, 0.5, 5)]
    assert [timings["one"].turns for timings in found] == [2, 5, 9]


def test_one_disturbed_turn_changes_nothing():
    calm, disturbed = summary([1.0, 1.1, 1.2, 1.3, 1.4]), summary([1.0, 1.1, 1.2, 1.3, 99.0])
    assert calm == disturbed
    assert calm == pytest.approx((1.2, 0.1, 5))
    assert summary([2.0]) == (2.0, 0.0, 1)
