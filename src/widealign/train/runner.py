"""A run in its folder: config.json, metrics.jsonl, checkpoints, and last result.json."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from widealign.alignment import AlignmentObserver
from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train import checkpoint, metrics, record
from widealign.train.files import locked, read_json, write_json
from widealign.train.finite import Breakdown, BrokeDown
from widealign.train.interrupt import Interrupted, Stop, stop_on_signals
from widealign.train.loop import EpochEnd, Loop, Steps
from widealign.train.metrics import Metrics
from widealign.train.progress import show
from widealign.train.protocols import Prepared, prepare
from widealign.train.resolving import resolve
from widealign.train.tensorboard import Board
from widealign.train.trial import Observer, Trial

Observers = Callable[[Trial], Sequence[Observer]]

_log = logging.getLogger(__name__)
_DURABLE_SECONDS = 1.0  # waiting for the disk takes longer than a small epoch; a power failure costs this much work


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a run is carried out. Nothing here changes its numbers.

    Attributes:
        resume: go on from the newest checkpoint, if there is one.
        data_dir: where the data are looked for first.
        allow_unverified: data files whose md5 is not the official one give a warning instead of an error.
        checkpoint_seconds: how often a checkpoint is written inside an epoch; there is one at the end of each anyway.
        tensorboard: also write the figures for TensorBoard.
    """

    resume: bool = False
    data_dir: Path | None = None
    allow_unverified: bool = False
    checkpoint_seconds: float = 60.0
    tensorboard: bool = False

    def __post_init__(self) -> None:
        """Refuses what is no time span."""
        if not self.checkpoint_seconds >= 0:
            raise UsageError(f"--checkpoint-seconds must be 0 or more; given {self.checkpoint_seconds}")


def run(
    config: RunConfig,
    out: Path,
    options: Options | None = None,
    *,
    observers: Observers | None = None,
) -> dict[str, Any]:
    """Train as `config` says, in the folder `out`. Returns the content of its result.json.

    A finished folder is left as it is, if its settings are the same. A run that diverges is a result, too: its status
    says so.

    Args:
        config: what to train; settings left open are filled in by `resolve`.
        out: the run's folder; made if needed.
        options: how to carry it out; `Options()` by default.
        observers: makes those who watch the run, from its trial; by default what `config.alignment` asks for.

    Raises:
        UsageError: the settings are impossible, or the folder holds another run, or an unfinished one without `resume`.
        DataError: the data are missing or damaged.
        Interrupted: someone asked for a stop; everything is saved.
    """
    config, options = resolve(config), options or Options()
    with locked(out):
        stored = read_json(out / "config.json")
        begun = _has_begun(out)
        if stored is not None:
            record.require_same(asdict(config), stored, out)
        elif begun:
            raise UsageError(
                f"{out} holds a run without its config.json, so that nobody knows which: give another folder by --out"
            )
        if (done := read_json(out / "result.json")) is not None:
            return record.require_result(done, out)
        if begun and not options.resume:
            raise UsageError(
                f"{out} holds an unfinished run: give --resume to go on with it, or another folder by --out"
            )
        device, threads = machine(config, stored)
        with _computing_on(device, config.seed, threads), stop_on_signals() as stop:
            prepared = prepare(
                config, device=device, data_dir=options.data_dir, allow_unverified=options.allow_unverified
            )
            _describe(out, {**record.settings(config, device=device, threads=threads), **prepared.description}, stored)
            return _Session(config, out, options, prepared, observers or _observers(config), stop).result()


class _Session:
    """One process's part of a run: from the newest checkpoint to the end, or to a stop."""

    def __init__(
        self,
        config: RunConfig,
        out: Path,
        options: Options,
        prepared: Prepared,
        observers: Observers | None,
        stop: Stop,
    ):
        self.config, self.out, self.options, self.prepared, self.stop = config, out, options, prepared, stop
        trial = prepared.trial
        self.loop = Loop(replace(trial, observers=observers(trial) if observers else ()), paused=stop)
        saved = self._newest()
        position = 0
        self._seconds_before = 0.0
        if saved is not None:
            self.loop.load_state_dict(saved["loop"])
            position, self._seconds_before = saved["metrics"], saved["seconds"]
        self.log = Metrics(out / "metrics.jsonl", position=position)
        self._begun = self._saved = time.monotonic()
        self._durable: Path | None = None
        self._durable_since = -math.inf

    @property
    def _checkpoints(self) -> Path:
        return self.out / "checkpoints"

    def _newest(self) -> dict[str, Any] | None:
        """The newest checkpoint whose metrics are there: after a power failure they can end before it."""
        log = self.out / "metrics.jsonl"
        written = log.stat().st_size if log.exists() else 0
        first = None
        for state in checkpoint.load_all(self._checkpoints):
            first = first or state
            if state["config"] != self.config.id:
                raise UsageError(
                    f"{self._checkpoints} is of a run with other settings than {self.out / 'config.json'}: give "
                    "another folder by --out"
                )
            if state["metrics"] <= written:
                return state
        if first is None and written:
            _log.warning("%s has no whole checkpoint: the run begins again from its start", self._checkpoints)
        return first

    def result(self) -> dict[str, Any]:
        """Train to the end, and write result.json."""
        breakdown: Breakdown | None = None
        with closing(self.log), self._board() as board:
            try:
                self._train(board)
            except BrokeDown as broke:
                breakdown = broke.breakdown
                self._write_steps(breakdown.step - len(broke.losses) + 1, broke.losses)
            if late := self.loop.conclude():
                self.log.write({"kind": "test", **late})
            self.log.sync()
        content = record.result(
            config=self.config,
            criterion=self.prepared.criterion,
            epochs=metrics.epochs(self.log.path),
            steps=breakdown.step if breakdown else self.loop.step,
            seconds=self._seconds(),
            breakdown=breakdown,
        )
        write_json(self.out / "result.json", content)
        return content

    def _train(self, board: Board | None) -> None:
        title = f"{self.config.task} {self.config.rule} width {self.config.width} lr {self.config.lr:g}"
        with show(self.loop, title) as progress:
            for event in self.loop.run():
                progress.event(event)
                if isinstance(event, Steps):
                    self._write_steps(event.first, event.losses)
                else:
                    self._write_epoch(event, board)
                if isinstance(event, EpochEnd) or self.stop() or self._checkpoint_is_due():
                    self._save()
                if self.stop() and self.loop.epoch < self.loop.trial.epochs:
                    raise Interrupted(self._farewell())

    def _write_steps(self, first: int, losses: Sequence[float]) -> None:
        if self.config.log_steps:
            lines = ({"kind": "step", "step": step, "loss": loss} for step, loss in enumerate(losses, first))
            self.log.write(*lines)

    def _write_epoch(self, event: EpochEnd, board: Board | None) -> None:
        self.log.write({"kind": "epoch", "epoch": event.epoch, **event.figures}, *event.records)
        if board is not None:
            board.event(event)

    def _checkpoint_is_due(self) -> bool:
        return time.monotonic() - self._saved >= self.options.checkpoint_seconds

    def _save(self) -> None:
        last = self.stop() or self.loop.epoch == self.loop.trial.epochs
        durable = last or time.monotonic() - self._durable_since >= _DURABLE_SECONDS
        # The log first: a checkpoint must never point past what is on the disk.
        position = self.log.sync() if durable else self.log.length()
        state = {
            "config": self.config.id,
            "metrics": position,
            "seconds": self._seconds(),
            "loop": self.loop.state_dict(),
        }
        path = checkpoint.save(self._checkpoints, state, durable=durable, keep=self._durable)
        self._saved = time.monotonic()
        if durable:
            self._durable, self._durable_since = path, self._saved

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._begun

    def _board(self) -> Any:
        if not self.options.tensorboard:
            return nullcontext()
        return closing(Board(self.out / "tensorboard", first_epoch=self.loop.epoch + 1))

    def _farewell(self) -> str:
        loop = self.loop
        return (
            f"stopped after step {loop.step} (epoch {loop.epoch + 1} of {loop.trial.epochs}), everything is saved in "
            f"{self.out}: the same command with --resume goes on from here"
        )


def _observers(config: RunConfig) -> Observers | None:
    """With `alignment`, the companion that alignment is measured against."""
    if not config.alignment:
        return None

    def beside(trial: Trial) -> list[Observer]:
        as_scripts = config.protocol == "paper"
        return [AlignmentObserver(trial.learner, trial.optimizer, seed=config.seed, as_scripts=as_scripts)]

    return beside


def _has_begun(out: Path) -> bool:
    """Whether a folder holds more than the settings of a run."""
    log = out / "metrics.jsonl"
    return (
        (out / "result.json").exists()
        or (log.exists() and log.stat().st_size > 0)
        or (next(out.glob("checkpoints/*.pt"), None) is not None)
    )


def machine(config: RunConfig, stored: dict[str, Any] | None) -> tuple[torch.device, int]:
    """What the user named, else what the run began with, else what this machine has."""
    before = stored or {}
    device = before.get("device", "auto") if config.device == "auto" else config.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda was asked for, but torch sees no GPU here: give --device cpu")
    return torch.device(device), config.threads or before.get("threads") or torch.get_num_threads()


@contextmanager
def _computing_on(device: torch.device, seed: int, threads: int) -> Iterator[None]:
    """Torch's global settings for one run, put back afterwards: the threads, the generators, repeatable kernels."""
    gpus = [torch.cuda.current_device()] if device.type == "cuda" else []
    repeatable = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=gpus), repeatable:
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


def _describe(out: Path, content: dict[str, Any], stored: dict[str, Any] | None) -> None:
    if stored is None:
        write_json(out / "config.json", {**content, **record.provenance()})
    elif stored["split"] != content["split"] or stored["data"] != content["data"]:
        raise UsageError(
            f"the data are not those that the run in {out} began with: give back the same files (config.json has their "
            "md5), or begin again in another folder by --out"
        )
