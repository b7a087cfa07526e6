"""What a run's folder says about the run: its settings, where it ran, and how it ended."""

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

import widealign
from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train.finite import Breakdown


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """The figure by which a protocol chooses an epoch and a learning rate.

    Attributes:
        figure: its name in an epoch's line.
        same_epoch: whether `best` means all figures of the chosen epoch, or the best of each figure by itself.
    """

    figure: str
    same_epoch: bool

    def best(self, epochs: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float | None], dict[str, int]]:
        """The best value of every figure, and the epoch it comes from; the first one where several are equal."""
        if not epochs:
            return {}, {}
        names = [name for name in epochs[0] if name not in ("kind", "epoch")]
        chosen = {name: _best_of(self.figure if self.same_epoch else name, epochs) for name in names}
        return {name: line[name] for name, line in chosen.items()}, {
            name: line["epoch"] for name, line in chosen.items()
        }


def better(figure: str) -> Literal["high", "low"]:
    """Which direction of a figure is the better one."""
    return "high" if figure.endswith("acc") else "low"


def _best_of(figure: str, epochs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    sign = 1 if better(figure) == "high" else -1
    known = [line for line in epochs if line[figure] is not None]
    return max(known, key=lambda line: sign * line[figure]) if known else epochs[0]


def settings(config: RunConfig, *, device: torch.device, threads: int) -> dict[str, Any]:
    """All settings, with the device and the threads that this machine gave where the user left them open."""
    return {**asdict(config), "device": device.type, "threads": threads}


def provenance() -> dict[str, Any]:
    """Versions of what computes the numbers, and the commit where the package runs from its own repository."""
    versions = {
        "widealign": widealign.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
    return {"versions": versions, "commit": _commit(), "machine": f"{platform.system()} {platform.machine()}"}


def require_result(content: Any, folder: Path) -> dict[str, Any]:
    """`content` of result.json, if it is one.

    Raises:
        UsageError: something is missing.
    """
    needed = {"status": str, "best": dict, "last": dict, "epochs": int, "steps": int}
    missing = [name for name, kind in needed.items() if not isinstance(content.get(name), kind)]
    if missing := missing or [f"last {name}" for name in content["best"] if name not in content["last"]]:
        raise UsageError(
            f"{folder / 'result.json'} is damaged, it has no {', '.join(missing)}: delete it and give --resume, or "
            "another folder by --out"
        )
    return content


def require_same(asked: Mapping[str, Any], stored: Mapping[str, Any], folder: Path) -> None:
    """Raise unless `stored` holds the settings asked for. Device and threads count only where the user named them.

    Raises:
        UsageError: names every setting that differs.
    """
    left_open = {name for name, default in (("device", "auto"), ("threads", None)) if asked[name] == default}
    differing = [
        f"{name} is {stored.get(name)!r} there and {value!r} here"
        for name, value in asked.items()
        if name not in left_open and stored.get(name) != value
    ]
    if differing:
        raise UsageError(
            f"{folder} holds a run with other settings: {'; '.join(differing)}. Give the same settings, or another "
            "folder by --out"
        )


def result(
    *,
    config: RunConfig,
    criterion: Criterion,
    epochs: Sequence[Mapping[str, Any]],
    steps: int,
    seconds: float,
    breakdown: Breakdown | None,
) -> dict[str, Any]:
    """The content of result.json, from the epoch lines of the metrics."""
    best, best_epoch = criterion.best(epochs)
    ended: dict[str, Any] = {"status": "finished"}
    if breakdown is not None:
        ended = {"status": "diverged", "epoch": breakdown.epoch, "diverged": {**asdict(breakdown), "rule": config.rule}}
    return {
        **ended,
        "protocol": config.protocol,
        "lr": config.lr,
        "chosen_by": {"figure": criterion.figure, "better": better(criterion.figure)},
        "best": best,
        "best_epoch": best_epoch,
        "last": {name: epochs[-1][name] for name in best} if epochs else {},
        "epochs": len(epochs),
        "steps": steps,
        "seconds": round(seconds, 3),
    }


def _commit() -> str | None:
    package = Path(widealign.__file__).parent
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None  # installed somewhere inside another project's repository, perhaps
    commit = _git(package, "rev-parse", "HEAD")
    changed = _git(package, "status", "--porcelain", "--untracked-files=no", ".")
    return f"{commit}-changed" if changed else commit


def _git(folder: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
