"""The same jobs on a Ray cluster. Each Ray task starts the same worker process, so a run's bits do not depend on it."""

import importlib
import os
from concurrent.futures import Future
from typing import Any

from widealign.errors import UsageError
from widealign.experiments import Job
from widealign.sweep.launch import Launcher, Outcome


class RayExecutor:
    """Hands jobs to Ray, which spreads them over the cluster's processors.

    Args:
        address: `local` starts a cluster on this machine; otherwise `auto`, or host:port of a running one. All machines
            must see the store under the same path.
        workers: How many jobs at a time.
    """

    def __init__(self, launcher: Launcher, address: str, workers: int):
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        self._ray = _ray()
        try:
            self._ray.init(address=None if address == "local" else address, **_quiet(address, workers))
        except (ConnectionError, ValueError) as error:
            raise UsageError(
                f"--ray takes local, auto or host:port of a running cluster; {address!r}: {error}"
            ) from error
        self.limit = max(1, int(self._ray.cluster_resources().get("CPU", 1)) // launcher.threads)
        self._task = self._ray.remote(num_cpus=launcher.threads, max_retries=3)(_do)
        self._launcher = launcher

    def submit(self, job: Job) -> "Future[Outcome]":
        """Begin a job somewhere."""
        return self._task.remote(self._launcher, job).future()

    def stop(self) -> None:
        """End Ray's tasks; with each of them its worker process ends, and leaves its last checkpoint."""
        self._ray.shutdown()


def _do(launcher: Launcher, job: Job) -> Outcome:
    return launcher(job)


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise UsageError("--ray needs the package ray: pip install 'widealign[sweep]'.") from None


def _quiet(address: str, workers: int) -> dict[str, Any]:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    return {**quiet, "num_cpus": workers, "include_dashboard": False} if address == "local" else quiet
