"""The rule of a configuration around a network, with the options that the configuration decides."""

from typing import Any

from torch import nn

from widealign import rules
from widealign.config import RunConfig
from widealign.errors import RefusedModel, UsageError
from widealign.rules import Learner, options

_NOT_BY_COMMAND = ("sites", "feedback")
"""Options whose values are Python objects."""


def make_learner(config: RunConfig, model: nn.Module, *, rule: str | None = None, **drawn: Any) -> Learner:
    """Wrap the network in the configuration's rule, with what the protocol has drawn for it.

    Args:
        config: The run's.
        model: Its network.
        rule: Another rule in the place of the configuration's.
        drawn: Options that the protocol decides.

    Raises:
        UsageError: an option has a value that the rule cannot take, or is one that the protocol draws.
    """
    given = ", ".join(f"{name}={value!r}" for name, value in config.rule_options.items())
    if fixed := sorted(set(drawn) & set(config.rule_options)):
        raise UsageError(
            f"--rule-option {given}: the {config.protocol} protocol decides {', '.join(fixed)}; leave it out"
        )
    if given and (unfit := sorted(set(_NOT_BY_COMMAND) & set(config.rule_options))):
        raise UsageError(f"--rule-option {given}: {', '.join(unfit)} can be set in Python only; leave it out")
    try:
        return rules.make(rule or config.rule, model, **with_seed(config), **drawn)
    except (TypeError, ValueError, UsageError) as error:
        if isinstance(error, RefusedModel) or not given:
            raise
        raise UsageError(f"--rule-option {given} does not suit {config.rule}: {error}") from error


def with_seed(config: RunConfig) -> dict[str, Any]:
    """The configuration's rule options; random feedback comes from the run's seed unless told otherwise."""
    seed = config.rule_options.get("seed", config.seed)
    if type(seed) is not int:
        raise UsageError(f"--rule-option seed= must be a whole number; given {seed!r}")
    seeded = {"seed": config.seed} if "seed" in options(rules.get(config.rule)) else {}
    return {**seeded, **config.rule_options}
