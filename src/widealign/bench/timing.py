"""Timing in turn: a machine that slows down slows everybody down."""

import statistics
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much time a measurement may take.

    Attributes:
        seconds: For each contender, roughly.
        turn: Shortest turn of a contender, in seconds: short steps are repeated, and the first one, which finds the
            processor's caches full of another network, is not timed.
        rounds: Fewest and most.
    """

    seconds: float
    turn: float = 0.03
    rounds: tuple[int, int] = (7, 41)


class Timing(NamedTuple):
    """Seconds of a step: the median over turns, and half the distance between the quartiles."""

    median: float
    spread: float
    turns: int


def in_turn(steps: Mapping[Key, Callable[[], None]], effort: Effort, clock: Callable[[], float]) -> dict[Key, Timing]:
    """Times everybody's steps, round by round."""
    first = {name: _timed(step, 1, clock) for name, step in steps.items()}
    repeats = {name: max(1, round(effort.turn / max(seconds, 1e-9))) for name, seconds in first.items()}
    whole = sum(seconds * _steps(repeats[name]) for name, seconds in first.items())
    least, most = effort.rounds
    rounds = min(most, max(least, int(effort.seconds * len(steps) / max(whole, 1e-9))))
    times: dict[Key, list[float]] = {name: [] for name in steps}
    for order in orders(list(steps), rounds):
        for name in order:
            times[name].append(_turn(steps[name], repeats[name], clock))
    return {name: summary(seconds) for name, seconds in times.items()}


def orders(names: Sequence[Key], rounds: int) -> Iterator[list[Key]]:
    """Who follows whom: two rounds, there and back, then the same with another one in front.

    Example:
        >>> [" ".join(order) for order in orders(["a", "b", "c"], 4)]
        ['a b c', 'c b a', 'b c a', 'a c b']
    """
    for number in range(rounds):
        start = number // 2 % len(names)
        order = [*names[start:], *names[:start]]
        yield order[::-1] if number % 2 else order


def summary(seconds: Sequence[float]) -> Timing:
    """Median and half the distance between the quartiles."""
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else (seconds[0],) * 3
    return Timing(median=statistics.median(seconds), spread=(high - low) / 2, turns=len(seconds))


def _turn(step: Callable[[], None], repeats: int, clock: Callable[[], float]) -> float:
    if repeats > 1:
        step()
    return _timed(step, repeats, clock)


def _steps(repeats: int) -> int:
    return repeats + (repeats > 1)


def _timed(step: Callable[[], None], repeats: int, clock: Callable[[], float]) -> float:
    begun = clock()
    for _ in range(repeats):
        step()
    return (clock() - begun) / repeats
