"""`--only width=8,rule=align-ada`: which runs of a plan, or of a store, are meant."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from difflib import get_close_matches
from typing import Any

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.experiments import Job, Study

_KEYS = {f.name for f in fields(RunConfig)} | {"kind", "id"}
_SHORT = {"n": "data_limit", "images": "data_limit"}


def parse_only(text: str | None) -> Callable[[Job], bool]:
    """A test of jobs. Several values of one key (width=8,16) mean any of them, several keys all.

    Example:
        >>> wanted = parse_only("width=8,16,rule=fa")
        >>> wanted(RunConfig(task="digits", rule="fa", width=16, lr=1.0))
        True
        >>> wanted(RunConfig(task="digits", rule="dfa", width=16, lr=1.0))
        False
    """
    wanted: dict[str, list[str]] = defaultdict(list)
    key = ""
    for part in (text or "").split(","):
        if part.strip():
            key, value = (key, part.strip()) if key and "=" not in part else _pair(part)
            wanted[key].append(value)
    return lambda job: all(any(_equal(_settings(job).get(key), v) for v in values) for key, values in wanted.items())


def _pair(part: str) -> tuple[str, str]:
    key, equals, value = (piece.strip() for piece in part.partition("="))
    key = key.lower().replace("-", "_")
    key = _SHORT.get(key, key)
    if not (key and equals and value):
        raise UsageError(
            f"--only takes KEY=VALUE,…; given {part.strip()!r}. For example: --only width=8,rule=align-ada."
        )
    if key not in _KEYS:
        close = get_close_matches(key, _KEYS, n=1)
        hint = f"Did you mean {close[0]}? " if close else ""
        raise UsageError(f"--only knows no setting {key!r}. {hint}There are: {', '.join(sorted(_KEYS))}.")
    return key, value


def _settings(job: Job) -> Mapping[str, Any]:
    if isinstance(job, Study):
        return {"kind": job.kind, "id": job.id}
    return {"kind": "train", "id": job.id, **asdict(job)}


def _equal(setting: Any, text: str) -> bool:
    if setting is None or isinstance(setting, bool | str):
        return str(setting).lower() == text.lower()
    if isinstance(setting, int | float):
        try:
            return float(text) == setting
        except ValueError:
            return False
    return str(setting) == text
