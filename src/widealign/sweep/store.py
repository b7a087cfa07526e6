"""The store: one folder a run, named by the run's id, and packs of finished runs in one file each.

store/
  3f0c…/            job.json, and what the run itself writes: config.json, metrics.jsonl, result.json, checkpoints
  damaged/3f0c…-1/  a run that could not be read back, set aside when it was done anew
  widths.jsonl.gz   finished runs packed for keeping; read like folders, never written to
"""

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.experiments import Job
from widealign.locks import close_when_forked
from widealign.sweep.pack import read_packs
from widealign.sweep.record import DamagedRun, Record, read_record

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A store as it was at one moment: finished runs, damaged ones with what is wrong, failures with their message."""

    finished: Mapping[str, Record]
    damaged: Mapping[str, str]
    failed: Mapping[str, str]
    unfinished: frozenset[str]

    @cached_property
    def _families(self) -> dict[str, dict[int, Record]]:
        families: dict[str, dict[int, Record]] = defaultdict(dict)
        for record in self.finished.values():
            if isinstance(record.job, RunConfig):
                families[_family(record.job)][record.job.seed] = record
        return families

    def seeds_of(self, config: RunConfig) -> Mapping[int, Record]:
        """Finished runs that equal the configuration in everything but the seed, by seed."""
        return self._families.get(_family(config), {})


def _family(config: RunConfig) -> str:
    return repr(replace(config, seed=0))


class Store:
    """A folder of runs. Readable while others write; a run's folder is written by one process at a time."""

    def __init__(self, path: Path):
        if path.exists() and not path.is_dir():
            raise UsageError(f"The store must be a folder; {path} is a file. Give another one by --store.")
        self.path = path

    def folder(self, job: Job) -> Path:
        """Where the job's run lives."""
        return self.path / job.id

    def read(self) -> Contents:
        """Everything in the store, now."""
        finished, damaged = read_packs(self.path)
        failed: dict[str, str] = {}
        unfinished: set[str] = set()
        for folder in self._folders():
            try:
                record = read_record(folder)
            except DamagedRun as problem:
                damaged[folder.name] = str(problem)
                continue
            if record is not None:
                finished[folder.name] = record
            elif (message := read_failure(folder)) is not None:
                failed[folder.name] = message
            else:
                unfinished.add(folder.name)
        damage = {name: what for name, what in damaged.items() if name not in finished}
        return Contents(
            finished=finished, damaged=damage, failed=failed, unfinished=frozenset(unfinished - set(finished))
        )

    def set_aside(self, job: Job) -> Path | None:
        """Move a run's folder out of the way, so that it is done anew; nothing is deleted.

        None if another process is at work in it.
        """
        folder = self.folder(job)
        with held(folder) as mine:
            if not mine:
                return None
            place = self.path / "damaged"
            place.mkdir(exist_ok=True)
            target = next(p for i in range(1, 10_000) if not (p := place / f"{folder.name}-{i}").exists())
            folder.rename(target)
            return target

    def _folders(self) -> list[Path]:
        if not self.path.exists():
            return []
        return sorted(f for f in self.path.iterdir() if len(f.name) == 16 and _HEX.issuperset(f.name) and f.is_dir())


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold a run's folder for this process, if nobody else does. The system frees it however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "sweep.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        close_when_forked(file)
        yield True


def write_json(path: Path, content: Any) -> None:
    """A reader sees all of the file or nothing."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_failure(folder: Path, message: str) -> None:
    """Keep why a run failed; the next sweep tries it again."""
    write_json(folder / "failure.json", {"message": message})


def read_failure(folder: Path) -> str | None:
    """Why a run failed, if it did."""
    try:
        return json.loads((folder / "failure.json").read_bytes())["message"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return "the message of its failure is damaged"
