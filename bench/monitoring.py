"""What it costs to watch alignment: a monitored step against a plain one, and the exact score against image probes.

Steps of backpropagation on the paper's CIFAR-10 network, on random data, in turn in one process; a turn is 50 steps, so
that a score every 50 steps has its share. The companion, which takes part in every step, is included.

    OMP_NUM_THREADS=1 python bench/monitoring.py --widths 8 32
"""

import argparse
import time
from collections.abc import Callable

import torch

import widealign
from widealign.alignment import AlignmentMonitor, Images, score, score_images, score_probe
from widealign.bench.timing import Effort, in_turn
from widealign.fast import keep_freed_memory

TURN = 50
BATCH = 100


def trained(width: int, every: int | None) -> Callable[[], None]:
    """A function that takes 50 steps, watched every so many of them, or not at all."""
    torch.manual_seed(0)
    model = widealign.models.cifar_cnn(width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = None if every is None else AlignmentMonitor(model, optimizer, every=every)
    x, y = torch.rand(BATCH, 3, 32, 32), torch.rand(BATCH, 10)

    def steps() -> None:
        for _ in range(TURN):
            loss = widealign.mse(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if monitor is not None:
                monitor.step()
            optimizer.step()

    return steps


def monitored(width: int, rounds: int) -> None:
    """Print the cost of a step, watched at every step and at every fiftieth."""
    sides = {"plain": trained(width, None), "every step": trained(width, 1), "every 50 steps": trained(width, 50)}
    timings = in_turn(sides, Effort(seconds=0.0, rounds=(rounds, rounds)), time.perf_counter)
    plain = timings["plain"].median
    for name, timing in timings.items():
        each, spread = 1e3 * timing.median / TURN, 1e3 * timing.spread / TURN
        print(f"width {width:3d}  {name:15s} {each:8.2f} ± {spread:.2f} ms a step  {timing.median / plain:.2f} ×",
              flush=True)  # fmt: skip


def scored(width: int, rounds: int) -> None:
    """Print the time of one layer's score in each of its forms."""
    torch.manual_seed(0)
    change, star = torch.randn(2, width, width, 3, 3)
    images = Images(height=32, width=32)
    forms: dict[str, Callable[[], object]] = {
        "10 000 image probes": lambda: score_probe(change, star, images=images, rounds=100, probes=100),
        "score": lambda: score(change, star),
        "score_images": lambda: score_images(change, star, images),
    }
    timings = in_turn(forms, Effort(seconds=0.0, rounds=(rounds, rounds)), time.perf_counter)  # pyrefly: ignore
    probes = timings["10 000 image probes"].median
    for name, timing in timings.items():
        print(f"width {width:3d}  {name:20s} {1e3 * timing.median:10.2f} ms  {probes / timing.median:8.0f} × faster",
              flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    scored(64, 3)
    for width in given.widths:
        monitored(width, given.rounds)


if __name__ == "__main__":
    main()
