"""A contender as a function that takes one training step.

Everybody starts from the same weights and sees the same data. The optimizer is SGD over lists of tensors (`foreach`)
where there is one, the loss the mean squared error.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from widealign import rules
from widealign.bench.cases import Case, Contender, Precision
from widealign.bench.data import Examples, model
from widealign.bench.in_place import learning_in_place
from widealign.fast import DualAlignZero, InPlaceAlignAda
from widealign.losses import mse

LR = 1e-3
Step = Callable[[], None]


def make_step(
    contender: Contender, case: Case, device: torch.device, precision: Precision = "float32"
) -> tuple[Step, int]:
    """The step, and how many of them make everything ready: caches full, code compiled."""
    data, network = Examples(case, device), model(case, device)
    match contender.mode:
        case "jacobian" | "gates":
            return _cached(contender, network, data, precision), len(data)
        case "in-place":
            return _in_place(contender, network, data), len(data)
        case "dual":
            return _dual(network, data), 1
        case "compiled":
            return _compiled(contender, network, data, precision), 2
        case _:
            return _autograd(network, _wrapped(contender, network), data, precision), 2


def _wrapped(contender: Contender, network: nn.Module, **options: Any) -> nn.Module:
    """Plain PyTorch has no learner around its model."""
    return network if contender.rule == "normal" else rules.make(contender.rule, network, **options)


def _autograd(network: nn.Module, learner: Callable[..., Tensor], data: Examples, precision: Precision,
              numbered: bool = False) -> Step:  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=LR, foreach=True)
    bf16 = precision == "bf16"

    def learn(x: Tensor, y: Tensor, index: Tensor) -> None:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=bf16):
            output = learner(x, index=index) if numbered else learner(x)
        mse(output.float(), y).backward()
        optimizer.step()

    return _in_turn(learn, data)


def _compiled(contender: Contender, network: nn.Module, data: Examples, precision: Precision) -> Step:
    learner = _wrapped(contender, network)
    mse(learner(data[0][0]), data[0][1]).backward()  # a learner's first pass looks around, and is not traced
    return _autograd(network, torch.compile(learner), data, precision)


def _cached(contender: Contender, network: nn.Module, data: Examples, precision: Precision) -> Step:
    normalises = contender.mode == "gates" and any(hasattr(module, "statistics") for module in network.modules())
    statistics = "frozen" if normalises else "batch"
    learner: Any = _wrapped(contender, network, cache=contender.mode, feedback_statistics=statistics)
    if normalises:
        learner.gather_statistics(data[batch][0] for batch in range(len(data)))
    return _autograd(network, learner, data, precision, numbered=True)


def _in_place(contender: Contender, network: nn.Module, data: Examples) -> Step:
    if contender.rule == "normal":
        opponent = learning_in_place(network, LR)
        return _in_turn(lambda x, y, index: mse(opponent(x), y).backward(), data)
    trainer = InPlaceAlignAda(rules.AlignAda(network), lr=LR)

    def learn(x: Tensor, y: Tensor, index: Tensor) -> None:
        mse(trainer(x, index=index), y).backward()
        trainer.step()

    return _in_turn(learn, data)


def _dual(network: nn.Module, data: Examples) -> Step:
    trainer = DualAlignZero(rules.AlignZero(network), data.x, lr=LR)

    def learn(x: Tensor, y: Tensor, index: Tensor) -> None:
        mse(trainer(index=index), y).backward()
        trainer.step()

    return _in_turn(learn, data)


def _in_turn(learn: Callable[[Tensor, Tensor, Tensor], None], data: Examples) -> Step:
    taken = 0

    def step() -> None:
        nonlocal taken
        learn(*data[taken])
        taken += 1

    return step
