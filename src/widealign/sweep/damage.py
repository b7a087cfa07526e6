"""What is wrong with an unfinished run's folder, for people: training itself goes back as far as it must."""

from pathlib import Path


def lost_checkpoint(folder: Path) -> str:
    """Says so if a run has begun and has no checkpoint to go on from; empty if all is well."""
    begun = (folder / "metrics.jsonl").exists() and (folder / "metrics.jsonl").stat().st_size > 0
    if not begun or (folder / "result.json").exists() or any(folder.glob("checkpoints/*")):
        return ""
    return "its checkpoint is missing: it begins anew"


def complaints(log: Path, since: int) -> list[str]:
    """What the worker said of damaged files from that byte of its log on."""
    if not log.exists():
        return []
    lines = log.read_bytes()[since:].decode(errors="replace").splitlines()
    return [line for line in lines if " is damaged" in line]


def size(log: Path) -> int:
    """Bytes of the log so far."""
    return log.stat().st_size if log.exists() else 0
