"""What a worker process does with one job. The sweep meets torch here, in the worker, and nowhere else."""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.experiments import Job, Study
from widealign.sweep.store import write_json


@dataclass(frozen=True, kw_only=True)
class DataAccess:
    """Where the data are, and whether files with another checksum will do."""

    data_dir: str | None = None
    allow_unverified: bool = False


def perform(job: Job, folder: Path, data: DataAccess) -> None:
    """Do the job in its folder, going on from its checkpoint if it has one; result.json comes last."""
    if isinstance(job, RunConfig):
        _train(job, folder, data)
    else:
        _study(job, folder)


def _train(config: RunConfig, folder: Path, data: DataAccess) -> None:
    train = import_module("widealign.train")
    place = Path(data.data_dir) if data.data_dir else None
    train.run(config, folder, train.Options(resume=True, data_dir=place, allow_unverified=data.allow_unverified))


def _study(study: Study, folder: Path) -> None:
    if (folder / "result.json").exists():
        return
    begun = time.monotonic()
    measured = _speed(study, folder) if study.kind == "speed" else _theory(study)
    seconds = round(time.monotonic() - begun, 3)
    write_json(folder / "result.json", {"status": "finished", "seconds": seconds, "study": measured})


def _theory(study: Study) -> Any:
    theory = import_module("widealign.theory")
    measured = getattr(theory, "run_" + study.kind.replace("-", "_"))(**study.options)
    return measured if isinstance(measured, dict) else asdict(measured)


def _speed(study: Study, folder: Path) -> Any:
    out = folder / "bench.json"
    quick = ["--quick"] if study.options.get("quick") else []
    command = [sys.executable, "-m", "widealign.cli", "bench", *quick, "--out", str(out)]
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise UsageError(f"`widealign bench` ended with exit code {done.returncode}; its output is in worker.log.")
    return {"rows": json.loads(out.read_text())}
