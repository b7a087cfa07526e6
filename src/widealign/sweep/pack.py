"""Packs: many finished runs in one compressed file, small enough to keep beside the code.

A pack holds what tables and figures need: the job, the result, where it was computed, the alignment lines, and the
losses of steps averaged over stretches. It leaves out checkpoints and the lines of each epoch.
"""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from widealign.experiments import thinned
from widealign.sweep.jobs import from_json, to_json
from widealign.sweep.record import Record

SUFFIX = ".runs.jsonl.gz"
_ORIGIN = ("versions", "commit", "machine", "device", "threads")


def write_pack(path: Path, records: Iterable[Record]) -> int:
    """Write finished runs, sorted by id; the same runs give the same bytes. Returns how many."""
    lines = [json.dumps(_packed(record), sort_keys=True) for record in sorted(records, key=lambda r: r.job.id)]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0))
    temporary.replace(path)
    return len(lines)


def _packed(record: Record) -> dict[str, Any]:
    return {
        **to_json(record.job),
        "result": dict(record.result),
        "origin": {key: record.origin[key] for key in _ORIGIN if key in record.origin},
        "metrics": [*record.lines("alignment"), *thinned(record.lines("step"))],
    }


def read_packs(folder: Path) -> tuple[dict[str, Record], dict[str, str]]:
    """All runs of the packs of a folder by id, and, by file name, what is wrong with packs that cannot be read."""
    finished: dict[str, Record] = {}
    damaged: dict[str, str] = {}
    for path in sorted(folder.glob("*" + SUFFIX)):
        try:
            finished |= {record.job.id: record for record in map(_unpacked, _texts(path))}
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            damaged[path.name] = f"the pack cannot be read ({error})"
    return finished, damaged


def _texts(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def _unpacked(text: str) -> Record:
    content = json.loads(text)
    return Record(
        job=from_json(content), result=content["result"], origin=content["origin"], metrics=tuple(content["metrics"])
    )
