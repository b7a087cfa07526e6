"""A small trial with every kind of state: a rule's buffers, momentum, a schedule, dropout, a random stream."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from widealign import rules
from widealign.losses import mse
from widealign.train import Batch, Stream, Trial


@dataclass
class Numbers:
    """Examples that are given rows of two tensors."""

    inputs: Tensor
    targets: Tensor
    labels: Tensor | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def batches(self, order: Tensor, batch_size: int, *, epoch: int = 0, first: int = 0) -> Iterator[Batch]:
        for begin in range(first * batch_size, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            yield Batch(self.inputs[rows], self.targets[rows], None if self.labels is None else self.labels[rows])


class Counter:
    """An observer that adds up what it sees."""

    def __init__(self):
        self.total = 0.0

    def before_update(self, batch: Batch, output: Tensor) -> None:
        self.total += float(output.detach().sum())

    def records(self, epoch: int) -> list[dict]:
        return [{"kind": "sum", "epoch": epoch, "total": self.total}]

    def state_dict(self) -> dict:
        return {"total": self.total}

    def load_state_dict(self, state: dict) -> None:
        self.total = state["total"]


def numbers(count: int = 23, features: int = 4, classes: int = 3) -> Numbers:
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(classes, (count,), generator=generator)
    inputs = torch.randn(count, features, generator=generator)
    return Numbers(inputs, nn.functional.one_hot(labels, classes).float(), labels)


def small_trial(rule: str = "align-ada", *, epochs: int = 3, batch_size: int = 5, lr: float = 0.1) -> Trial:
    examples = numbers()
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 3))
    learner = rules.make(rule, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    stream = Stream(3)

    def evaluate() -> dict[str, float | None]:
        rows = stream.permutation(len(examples))[:10]
        return {"eval_loss": float(mse(learner(examples.inputs[rows]), examples.targets[rows]))}

    return Trial(
        learner=learner,
        forward=learner,
        loss=mse,
        optimizer=optimizer,
        schedule=torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step),
        examples=examples,
        batch_size=batch_size,
        epochs=epochs,
        order=lambda: stream.permutation(len(examples)),
        evaluate=evaluate,
        streams={"numpy": stream},
        observers=(Counter(),),
    )
