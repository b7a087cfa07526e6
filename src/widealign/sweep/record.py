"""One finished run, read back: its job, its result, the lines of its metrics."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from widealign.config import RunConfig
from widealign.experiments import Job
from widealign.sweep.jobs import from_json

Line = dict[str, Any]


class DamagedRun(Exception):  # noqa: N818
    """A run's folder holds something that cannot be read back."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A finished run. `origin` says versions, commit, machine, as its configuration file had them."""

    job: Job
    result: Mapping[str, Any]
    origin: Mapping[str, Any]
    metrics: Sequence[Line]

    @property
    def best(self) -> Mapping[str, float]:
        """Best value of each figure; figures that were never finite are left out."""
        return _known(self.result.get("best"))

    @property
    def last(self) -> Mapping[str, float]:
        """Last value of each figure."""
        return _known(self.result.get("last"))

    @property
    def seconds(self) -> float:
        """How long the run took."""
        return self.result["seconds"]

    @cached_property
    def _by_kind(self) -> dict[str, list[Line]]:
        kinds: dict[str, list[Line]] = {}
        for line in self.metrics:
            kinds.setdefault(line["kind"], []).append(line)
        return kinds

    def lines(self, kind: str) -> Sequence[Line]:
        """Lines of the metrics file of one kind, in order."""
        return self._by_kind.get(kind, [])


def _known(figures: Mapping[str, float | None] | None) -> dict[str, float]:
    return {name: value for name, value in (figures or {}).items() if value is not None}


def read_record(folder: Path) -> Record | None:
    """The finished run of a folder; None while it has no result yet.

    Raises:
        DamagedRun: says which file is damaged and how.
    """
    if not (folder / "result.json").exists():
        return None
    result = _json(folder / "result.json", needs=("status", "seconds"))
    try:
        job = from_json(_json(folder / "job.json", needs=("id", "kind", "settings")))
    except (TypeError, ValueError) as error:
        raise DamagedRun(f"job.json: {error}") from error
    if job.id != folder.name:
        raise DamagedRun(f"job.json is that of another run, {job.id}")
    if not isinstance(job, RunConfig):
        return Record(job=job, result=result, origin=result.get("origin", {}), metrics=())
    config = _json(folder / "config.json")
    metrics = tuple(_lines(folder / "metrics.jsonl"))
    epochs = sum(line["kind"] == "epoch" for line in metrics)
    _require_lines(job, metrics, epochs)
    if "best" not in result or epochs != result.get("epochs", epochs):
        raise DamagedRun(f"metrics.jsonl has {epochs} epochs, result.json speaks of {result.get('epochs')}")
    return Record(job=job, result=result, origin=config, metrics=metrics)


def _require_lines(config: RunConfig, metrics: Sequence[Line], epochs: int) -> None:
    kinds = {line["kind"] for line in metrics}
    for kind, asked in (("alignment", config.alignment), ("step", config.log_steps)):
        if asked and epochs and kind not in kinds:
            raise DamagedRun(f"metrics.jsonl has no {kind} lines, which job.json asks for")


def _json(path: Path, needs: Sequence[str] = ()) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DamagedRun(f"{path.name} is missing") from None
    except ValueError as error:
        raise DamagedRun(f"{path.name} is not whole JSON ({error})") from error
    missing = [key for key in needs if not isinstance(content, dict) or key not in content]
    if missing:
        raise DamagedRun(f"{path.name} lacks {', '.join(missing)}")
    return content


def _lines(path: Path) -> Iterator[Line]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise DamagedRun(f"{path.name} is missing") from None
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            content = json.loads(line)
        except ValueError as error:
            raise DamagedRun(f"{path.name}, line {number}, is not whole JSON") from error
        if not isinstance(content, dict) or "kind" not in content:
            raise DamagedRun(f"{path.name}, line {number}, has no kind")
        yield content
