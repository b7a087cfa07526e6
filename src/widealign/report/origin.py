"""Where the numbers of a page come from: runs, seeds, machines, versions, commits, time."""

from collections import Counter
from collections.abc import Iterable

from widealign.config import RunConfig
from widealign.report.spent import numbers
from widealign.sweep import Record, duration


def origin(records: Iterable[Record]) -> tuple[tuple[str, str], ...]:
    """Names and values of the facts that the page's head lists."""
    found = list(records)
    if not found:
        return ()
    configs = [record.job for record in found if isinstance(record.job, RunConfig)]
    status = Counter(record.result["status"] for record in found)
    facts = [
        ("runs", f"{len(found)}" + (f", {status['diverged']} of them diverged" if status["diverged"] else "")),
        ("seeds", numbers({config.seed for config in configs})),
        ("protocols", _listed(config.protocol for config in configs)),
        ("computing", duration(sum(record.seconds for record in found))),
        ("hardware", _listed(_hardware(record) for record in found)),
        ("versions", _listed(_versions(record) for record in found)),
        ("commit", _listed(str(record.origin.get("commit") or "")[:12] for record in found)),
    ]
    return tuple((name, text) for name, text in facts if text)


def _listed(texts: Iterable[str], most: int = 3) -> str:
    """The distinct texts, most frequent first."""
    counts = Counter(text for text in texts if text)
    shown = [text for text, _ in counts.most_common(most)]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _hardware(record: Record) -> str:
    threads = record.origin.get("threads")
    words = [str(record.origin.get("machine", "")), str(record.origin.get("device", ""))]
    words += [f"{threads} thread{'s' * (threads != 1)} a run"] if threads else []
    return " · ".join(word for word in words if word)


def _versions(record: Record) -> str:
    return " · ".join(f"{name} {number}" for name, number in sorted(record.origin.get("versions", {}).items()))
