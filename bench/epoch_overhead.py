"""An epoch of backpropagation by widealign beside the same network in plain PyTorch with a bare loop.

Both train the paper's CIFAR-10 network from the same weights, on the same images in memory, in one process, epoch by
epoch in turn, so that a busy machine slows both. The bare loop evaluates as the paper's protocol does and keeps no log,
no checkpoint, no accuracy of the training batches. Prints the ratio of the median epochs by the wall clock, and by
processor time, which other work on the machine disturbs less.

    OMP_NUM_THREADS=1 python bench/epoch_overhead.py --widths 8 32 --images 1000 --rounds 15
"""

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from widealign.config import RunConfig
from widealign.data import load
from widealign.train import checkpoint, prepare, resolve
from widealign.train.loop import EpochEnd, Loop
from widealign.train.metrics import Metrics

BATCH = 100
HELD_OUT = 5000
STRIDES = (1, 1, 1, 2, 1, 2, 1)


class Bare(nn.Module):
    """The network as someone would write it who needs just this one."""

    def __init__(self, width: int):
        super().__init__()
        channels = [3] + [width] * len(STRIDES)
        self.weights = nn.ParameterList(torch.randn(size, before, 3, 3) for before, size in pairwise(channels))
        self.biases = nn.ParameterList(torch.zeros(width) for _ in STRIDES)
        self.readout = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        for weight, bias, stride in zip(self.weights, self.biases, STRIDES, strict=True):
            x = F.pad(x, (0, 1, 0, 1)) if stride == 2 else x
            x = F.conv2d(x, weight / math.sqrt(weight[0].numel()), bias, stride=stride, padding=int(stride == 1))
            x = F.relu(F.batch_norm(x.flatten(1), None, None, training=True, eps=1e-6).view(x.shape))
        return self.readout(x.mean((2, 3)))


def bare_epochs(width: int, images: int, lr: float) -> Iterator[None]:
    """One epoch of training and evaluation at each step of the iterator."""
    data = load("cifar10")
    train, labels = data.train_images[HELD_OUT : HELD_OUT + images], data.train_labels[HELD_OUT : HELD_OUT + images]
    held_out, held_labels = data.train_images[: min(images, HELD_OUT)], data.train_labels[: min(images, HELD_OUT)]
    targets = F.one_hot(labels, 10).float() - 0.1
    held_targets = F.one_hot(held_labels, 10).float() - 0.1
    model = Bare(width)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    while True:
        for rows in torch.randperm(len(train)).split(BATCH):
            optimizer.zero_grad()
            loss = (model(train[rows].float() / 255) - targets[rows]).square().mean()
            loss.backward()
            optimizer.step()
        correct, total = 0, 0.0
        with torch.no_grad():
            for rows in torch.randperm(len(held_out)).split(BATCH):
                output = model(held_out[rows].float() / 255)
                total += float((output - held_targets[rows]).square().mean())
                correct += int((output.argmax(1) == held_labels[rows]).sum())
        yield


def our_epochs(width: int, images: int, lr: float, folder: Path) -> Iterator[None]:
    """The same by the package: the loop with its watch, its figures, its log and a checkpoint each epoch."""
    config = resolve(
        RunConfig(task="cifar10", rule="normal", width=width, lr=lr, epochs=10**6, data_limit=images, log_steps=True)
    )
    loop = Loop(prepare(config, device=torch.device("cpu")).trial)
    log = Metrics(folder / "metrics.jsonl")
    for event in loop.run():
        if isinstance(event, EpochEnd):
            log.write({"kind": "epoch", "epoch": event.epoch, **event.figures})
            checkpoint.save(folder, {"metrics": log.sync(), "loop": loop.state_dict()})
            yield
        else:
            log.write(*({"kind": "step", "step": step, "loss": loss} for step, loss in enumerate(event.losses)))


def ratio(width: int, images: int, rounds: int) -> None:
    """Print the median epoch of both and their ratio; the first epoch of each warms up."""
    with tempfile.TemporaryDirectory() as folder:
        sides = {"bare": bare_epochs(width, images, 0.5), "ours": our_epochs(width, images, 0.5, Path(folder))}
        wall: dict[str, list[float]] = {name: [] for name in sides}
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(rounds + 1):
            for name in sides if number % 2 else reversed(sides):
                begun = time.perf_counter(), time.process_time()
                next(sides[name])
                if number:
                    wall[name].append(time.perf_counter() - begun[0])
                    cpu[name].append(time.process_time() - begun[1])
    for clock, times in (("wall", wall), ("cpu", cpu)):
        bare, ours = (statistics.median(times[name]) for name in ("bare", "ours"))
        print(
            f"width {width:4d}  {clock:4s}  bare {bare:7.3f} s  ours {ours:7.3f} s  ratio {ours / bare:.3f}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--images", type=int, default=1000, help="a multiple of 100")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    for width in given.widths:
        ratio(width, given.images, given.rounds)


if __name__ == "__main__":
    main()
