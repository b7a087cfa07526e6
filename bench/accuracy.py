"""What a faster form costs in accuracy: bf16 against float32, frozen feedback statistics against those of each batch.

Trains on the first images of CIFAR-10 by the paper's protocol, and prints the best held-out accuracy, mean and standard
deviation over seeds, and the seconds of one run.

    python bench/accuracy.py --question precision --widths 64 128 --images 450 --epochs 10
    python bench/accuracy.py --question statistics --widths 8 16 32 --images 450 --epochs 30 --seeds 3
"""

import argparse
import statistics
import time
from dataclasses import replace

import torch

from widealign.config import RunConfig
from widealign.train import prepare, resolve
from widealign.train.loop import EpochEnd, Loop

VARIANTS = {
    "precision": [
        (rule, precision, {"rule": rule, "precision": precision})
        for rule in ("normal", "align-ada")
        for precision in ("float32", "bf16")
    ],
    "statistics": [
        ("align-ada", kind, {"rule": "align-ada", "rule_options": {"feedback_statistics": kind}})
        for kind in ("batch", "frozen")
    ],
}


def best_accuracy(config: RunConfig) -> float:
    """The best epoch's accuracy on the held-out images."""
    with torch.random.fork_rng(devices=[]):
        trial = prepare(resolve(config), device=torch.device("cpu")).trial
        if config.rule_options.get("feedback_statistics") == "frozen":
            every = trial.examples.batches(torch.arange(len(trial.examples)), trial.batch_size)
            trial.learner.gather_statistics(batch.inputs for batch in every)
        ends = [event for event in Loop(trial).run() if isinstance(event, EpochEnd)]
    return max(end.figures["eval_acc"] or 0.0 for end in ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--question", choices=list(VARIANTS), required=True)
    parser.add_argument("--widths", type=int, nargs="+", default=[16])
    parser.add_argument("--images", type=int, default=450)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for width in given.widths:
        for rule, name, settings in VARIANTS[given.question]:
            config = RunConfig(
                task="cifar10", width=width, lr=given.lr, epochs=given.epochs, data_limit=given.images, **settings
            )
            begun = time.perf_counter()
            found = [100 * best_accuracy(replace(config, seed=99 + i)) for i in range(given.seeds)]
            seconds = (time.perf_counter() - begun) / given.seeds
            spread = statistics.stdev(found) if len(found) > 1 else float("nan")
            print(f"width {width:4d}  {rule:10s} {name:8s} {statistics.fmean(found):5.1f} ± {spread:4.1f} %  "
                  f"{seconds:6.1f} s a run", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
