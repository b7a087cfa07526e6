"""Rules by name. Every file of this package that defines a rule is found by itself."""

import difflib
import pkgutil
from importlib import import_module
from typing import Any

from torch import nn

import widealign.rules as package
from widealign.errors import UsageError
from widealign.rules.learner import REGISTRY, Learner, options


def names() -> list[str]:
    """The ids of all rules, backpropagation first."""
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return sorted(REGISTRY, key=lambda id: (id != "normal", id))


def get(id: str) -> type[Learner]:
    """The rule's class."""
    known = names()
    if id not in known:
        close = difflib.get_close_matches(id, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"There is no rule {id!r}; the rules are {', '.join(known)}.{hint}")
    return REGISTRY[id]


def make(id: str, model: nn.Module, **choices: Any) -> Learner:
    """Wraps `model` in the rule `id`.

    Example:
        >>> learner = make("align-ada", nn.Linear(3, 2), refresh=100)
    """
    rule = get(id)
    known = options(rule)
    if unknown := sorted(set(choices) - set(known)):
        raise UsageError(f"The rule {id!r} has no option {', '.join(unknown)}; its options are {', '.join(known)}.")
    return rule(model, **choices)
