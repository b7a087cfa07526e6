"""The options of a rule that a configuration decides."""

from typing import Any

from widealign import rules
from widealign.config import RunConfig
from widealign.rules import options


def with_seed(config: RunConfig) -> dict[str, Any]:
    """The configuration's rule options; random feedback comes from the run's seed unless told otherwise."""
    seeded = {"seed": config.seed} if "seed" in options(rules.get(config.rule)) else {}
    return {**seeded, **config.rule_options}
