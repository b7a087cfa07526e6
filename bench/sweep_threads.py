"""How a sweep should share the cores: as many runs as cores with one thread each, or half as many with two.

Worker processes take training steps for some seconds, both ways in turn. Prints steps a second of the whole machine.

    python bench/sweep_threads.py --network cnn --widths 8 32 --seconds 2 --rounds 5
"""

import argparse
import multiprocessing
import os
import statistics
import time
from multiprocessing.connection import Connection

from widealign.bench import NETWORKS, Case


class Worker:
    """A process that takes steps when it is told to."""

    def __init__(self, case: Case, rule: str, threads: int):
        self.line, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_steps, args=(other, case, rule, threads), daemon=True)
        self.process.start()

    def end(self) -> None:
        self.line.send(0.0)
        self.process.join()


def _steps(line: Connection, case: Case, rule: str, threads: int) -> None:
    import torch

    from widealign.bench.cases import Contender
    from widealign.bench.steps import make_step

    torch.set_num_threads(threads)
    step, warm_up = make_step(Contender(rule, "plain"), case, torch.device("cpu"))
    for _ in range(warm_up):
        step()
    line.send(0)
    while seconds := line.recv():
        begun, taken = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            step()
            taken += 1
        line.send(taken / (time.perf_counter() - begun))


def together(workers: list[Worker], seconds: float) -> float:
    """Steps a second, of all of them at once."""
    for worker in workers:
        worker.line.send(seconds)
    return sum(worker.line.recv() for worker in workers)


def compare(case: Case, rule: str, seconds: float, rounds: int) -> None:
    """Print one line."""
    cores = os.cpu_count() or 1
    ways = {1: [Worker(case, rule, 1) for _ in range(cores)], 2: [Worker(case, rule, 2) for _ in range(cores // 2)]}
    for workers in ways.values():
        for worker in workers:
            worker.line.recv()
    rates: dict[int, list[float]] = {threads: [] for threads in ways}
    for number in range(rounds):
        for threads in ways if number % 2 else reversed(ways):
            rates[threads].append(together(ways[threads], seconds))
    for workers in ways.values():
        for worker in workers:
            worker.end()
    one, two = (statistics.median(rates[threads]) for threads in (1, 2))
    print(
        f"{case.network:4s} width {case.width:4d}  {rule:10s}  {cores} runs × 1 thread {one:8.2f} steps/s  "
        f"{cores // 2} × 2 threads {two:8.2f} steps/s  ratio {one / two:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=list(NETWORKS), default="cnn")
    parser.add_argument("--widths", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--rule", default="align-ada")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    network = NETWORKS[given.network]
    for width in given.widths:
        case = Case(network=given.network, width=width, batch=network.batch, examples=network.examples)
        compare(case, given.rule, given.seconds, given.rounds)


if __name__ == "__main__":
    main()
