"""Which experiments there are: every spec of the catalog, in the paper's order."""

import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from widealign.errors import UsageError
from widealign.experiments import catalog
from widealign.experiments.spec import Experiment

_ORDER = ("table", "figure", "theory", "sound", "epochs", "refresh", "speed")


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by its id.

    Example:
        >>> list(experiments())[:3]
        ['table-1', 'table-2', 'table-3']
    """
    modules = [import_module(f"{catalog.__name__}.{info.name}") for info in iter_modules(catalog.__path__)]
    found = [spec for module in modules for spec in vars(module).values() if isinstance(spec, Experiment)]
    return {spec.id: spec for spec in sorted(found, key=_position)}


def _position(spec: Experiment) -> tuple[int, str, int]:
    kind, _, number = spec.id.rpartition("-")
    return (_ORDER.index(kind) if kind in _ORDER else len(_ORDER), kind, int(number) if number.isdigit() else 0)


def find(name: str) -> Experiment:
    """One experiment by id; an unknown id lists what there is."""
    known = experiments()
    if name in known:
        return known[name]
    close = get_close_matches(re.sub(r"[\s_]", "-", name.lower()), known, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    raise UsageError(f"No experiment is called {name!r}. {hint}There are: {', '.join(known)}, and all.")


def select(ids: tuple[str, ...]) -> tuple[Experiment, ...]:
    """The named experiments, each once; `all` is every one."""
    if not ids:
        raise UsageError(f"Name at least one experiment, or all. There are: {', '.join(experiments())}.")
    every = [spec for spec in experiments().values() if spec.in_all]
    named = [spec for name in ids for spec in (every if name == "all" else (find(name),))]
    return tuple({spec.id: spec for spec in named}.values())
