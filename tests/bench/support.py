"""Small cases, measured in no time."""

from functools import cache

import torch

from widealign.bench import Case, Choice, contenders
from widealign.bench.measure import Bench, measure
from widealign.bench.timing import Effort
from widealign.rules import names

CPU = torch.device("cpu")
SMALL = {
    "cnn": Case(network="cnn", width=4, batch=4, examples=8),
    "mlp": Case(network="mlp", width=32, batch=4, examples=8),
    "rnn": Case(network="rnn", width=4, batch=4, examples=8),
    "transformer": Case(network="transformer", width=8, batch=4, examples=8),
}
SHORT = Bench(effort=Effort(seconds=0.0, turn=0.0, rounds=(2, 2)), device=CPU, threads=1, clock="wall")


@cache
def all_rows(network: str) -> list[dict]:
    """Everybody on a small network."""
    return rows(SMALL[network])


def rows(case: Case, **choice) -> list[dict]:
    found, failures = measure(case, contenders(case, Choice(**choice), names()), SHORT, lambda contender: None)
    assert failures == []
    return found
