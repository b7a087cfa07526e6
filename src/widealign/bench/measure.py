"""One case measured: everybody made ready, timed in turn with backprop, and written down as rows."""

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.utils.flop_counter import FlopCounterMode

import widealign
from widealign.bench.cases import BASELINE, Case, Contender, Precision
from widealign.bench.floors import floor
from widealign.bench.memory import with_peak
from widealign.bench.steps import Step, make_step
from widealign.bench.timing import Effort, Timing, in_turn
from widealign.errors import WidealignError
from widealign.fast import keep_freed_memory

Row = dict[str, Any]
Clock = Literal["wall", "cpu"]
Freed = Literal["kept", "returned"]
Told = Callable[[Contender], object]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """How to measure."""

    effort: Effort
    device: torch.device
    threads: int
    clock: Clock
    precision: Precision = "float32"
    freed: Freed = "kept"

    def now(self) -> float:
        """Seconds, once the device has done what it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter() if self.clock == "wall" else time.process_time()

    def setting(self) -> Row:
        """Where the numbers come from."""
        versions = {"widealign": widealign.__version__, "torch": torch.__version__, "python": platform.python_version()}
        device = _processor() if self.device.type == "cpu" else torch.cuda.get_device_name(self.device)
        return {
            "machine": device,
            "system": f"{platform.system()} {platform.machine()}",
            "device": self.device.type,
            "threads": self.threads,
            "precision": self.precision,
            "clock": self.clock,
            "freed": self.freed,
            "versions": versions,
        }


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A contender that can be timed.

    Attributes:
        seconds: Until it was ready: the snapshot, a cache filled, code compiled.
        peak: Bytes, from its model on.
        products: Multiplications of a step in matrix products and convolutions; None for compiled code.
    """

    step: Step
    seconds: float
    peak: float
    products: float | None


@contextmanager
def prepared_process(bench: Bench) -> Iterator[None]:
    """The number of threads; and, unless asked otherwise, an allocator that keeps what is freed."""
    before = torch.get_num_threads()
    torch.set_num_threads(bench.threads)
    if bench.freed == "kept":
        keep_freed_memory()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def measure(case: Case, wanted: Sequence[Contender], bench: Bench, ready_to: Told) -> tuple[list[Row], list[str]]:
    """The rows of a case, the baseline's first; and in words, who could not be timed and why."""
    torch._dynamo.reset()  # other cases' compiled code counts against the limit of a function
    ready: dict[Contender, Ready] = {}
    failures = []
    for contender in wanted:
        ready_to(contender)
        try:
            ready[contender] = _ready(contender, case, bench)
        except (WidealignError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:300]
            failures.append(f"{case.title}: {contender.rule}, {contender.mode}: {reason}")
    if BASELINE not in ready:
        return [], failures
    timings = in_turn({contender: one.step for contender, one in ready.items()}, bench.effort, bench.now)
    return [_row(contender, case, ready, timings, bench) for contender in ready], failures


def _ready(contender: Contender, case: Case, bench: Bench) -> Ready:
    def make() -> Step:
        step, warm_up = make_step(contender, case, bench.device, bench.precision)
        for _ in range(warm_up):
            step()
        return step

    begun = bench.now()
    step, peak = with_peak(make, bench.device)
    seconds = bench.now() - begun
    products = None if contender.mode == "compiled" else _products(step)
    return Ready(step=step, seconds=seconds, peak=peak, products=products)


def _products(step: Step) -> float:
    unknown = {torch.ops.aten.addmm_: _addmm_flop, torch.ops.aten.mv: _mv_flop}  # to PyTorch's counter
    with FlopCounterMode(display=False, custom_mapping=unknown) as counter:
        step()
    return counter.get_total_flops() / 2


def _addmm_flop(total: Sequence[int], left: Sequence[int], right: Sequence[int], **_: Any) -> int:
    return 2 * left[0] * left[1] * right[1]


def _mv_flop(matrix: Sequence[int], vector: Sequence[int], **_: Any) -> int:
    return 2 * matrix[0] * matrix[1]


def _row(
    contender: Contender, case: Case, ready: dict[Contender, Ready], timings: dict[Contender, Timing], bench: Bench
) -> Row:
    own, baseline = ready[contender], ready[BASELINE]
    timing, products = timings[contender], own.products
    fastest = min(timings[one].median for one in timings if one.rule == BASELINE.rule)
    assert baseline.products is not None
    return {
        "network": case.network,
        "width": case.width,
        "rule": contender.rule,
        "mode": contender.mode,
        "median_ms": _rounded(1e3 * timing.median),
        "spread_ms": _rounded(1e3 * timing.spread),
        "ratio": _rounded(timing.median / timings[BASELINE].median),
        "floor": _rounded(floor(contender, case)),
        "peak_mb": _rounded(own.peak / 1e6),
        "peak_ratio": _rounded(own.peak / baseline.peak),
        "counted": None if products is None else _rounded(products / baseline.products),
        "to_fastest": _rounded(timing.median / fastest),
        "batch_size": case.batch,
        "examples": case.examples,
        "turns": timing.turns,
        "prepare_s": _rounded(own.seconds),
        "setting": bench.setting(),
    }


def _rounded(number: float) -> float:
    """Four digits."""
    return float(f"{number:.4g}")


def _processor() -> str:
    """The processor's name, where the system says it."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
