"""From what a user asked for to a configuration without open ends; every problem of it in one error."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args, get_type_hints

from widealign import rules
from widealign.config import RunConfig
from widealign.data import paper_batch_size
from widealign.errors import UsageError

_ADD_BATCH = 50
_BATCH = 100
_LEAST_SOUND_BATCH = 20  # rather leave some images out of each epoch than have poor batch statistics
_LARGEST_SEED = 2**32 - 1  # NumPy's
_LARGEST_RATE = 1e30  # float32 still holds it
_MOST = {"width": 10**9, "threads": 1024}


def resolve(config: RunConfig) -> RunConfig:
    """Fill in what the protocol decides. Raises on settings that cannot be meant.

    Example:
        >>> resolve(RunConfig(task="cifar10", rule="fa", width=8, lr=1.0, data_limit=150)).batch_size
        50

    Raises:
        UsageError: lists every problem.
    """
    problems = [*_invalid_values(config), *_impossible_together(config)]
    if not problems and config.batch_size is None:
        config = replace(config, batch_size=_batch_size(config))
    if not problems:
        problems = [*_bad_batches(config)]
    if problems:
        raise UsageError("these settings do not work:\n" + "\n".join(f"  - {problem}" for problem in problems))
    return config


def _batch_size(config: RunConfig) -> int:
    if config.task == "add":
        return min(_ADD_BATCH, config.data_limit or _ADD_BATCH)
    if config.data_limit is None:
        return _BATCH
    size = paper_batch_size(config.data_limit)
    dividing_badly = config.protocol == "sound" and size < _LEAST_SOUND_BATCH
    return min(_BATCH, config.data_limit) if dividing_badly else size


def _invalid_values(config: RunConfig) -> Iterator[str]:
    for name, kind in get_type_hints(RunConfig).items():
        value, choices = getattr(config, name), get_args(kind)
        if choices and isinstance(choices[0], str) and value not in choices:
            yield f"{_option(name)} must be one of {', '.join(choices)}; given {value!r}"
    if config.rule not in rules.names():
        yield f"--rule must be one of {', '.join(rules.names())}; given {config.rule!r}"
    for name in ("width", "epochs", "data_limit", "batch_size", "threads"):
        value = getattr(config, name)
        if value is not None and value < 1:
            yield f"{_option(name)} must be at least 1; given {value}"
        if value is not None and value > _MOST.get(name, value):
            yield f"{_option(name)} must be at most {_MOST[name]}; given {value}"
    if not 0 < config.lr <= _LARGEST_RATE:
        yield f"--lr must be a positive number, {_LARGEST_RATE:g} at most; given {config.lr}"
    if not 0 <= config.seed <= _LARGEST_SEED:
        yield f"--seed must be 0 to {_LARGEST_SEED}; given {config.seed}"
    if not 0 <= config.momentum < 1:
        yield f"--momentum must be at least 0 and below 1; given {config.momentum}"
    if not 0 <= config.weight_decay <= _LARGEST_RATE:
        yield f"--weight-decay must be 0 or more, {_LARGEST_RATE:g} at most; given {config.weight_decay}"


def _impossible_together(config: RunConfig) -> Iterator[str]:
    if config.evaluated == "chosen-epochs" and config.protocol != "sound":
        yield "--evaluated chosen-epochs needs --protocol sound: the paper's chooses epochs on the evaluation itself"
    if config.task != "add":
        return
    if config.loss != "mse":
        yield f"--loss {config.loss} needs classes, and add predicts numbers: leave --loss out"
    if config.activation != "relu":
        yield f"add's network has relu, as the paper's; given --activation {config.activation}"
    if config.parameterization != "ntk":
        yield f"add's network is in ntk parameterization, as the paper's; given {config.parameterization}"


def _bad_batches(config: RunConfig) -> Iterator[str]:
    size, limit = config.batch_size or 1, config.data_limit
    if limit is not None and size > limit:
        yield f"--batch-size {size} is more than --data-limit {limit}: give at most {limit}"
    if size == 1 and config.task not in ("add", "digits"):
        why = "" if limit is None else f" (gcd(100, {limit}) is the paper's batch size for --data-limit {limit})"
        yield f"batches of 1 have no batch statistics{why}: give a --batch-size of 2 or more, or another --data-limit"


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
