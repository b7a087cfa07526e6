"""Optimizers by name, and Adam with the small term where TensorFlow puts it."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from widealign.config import RunConfig


class TensorFlowAdam(Optimizer):
    """Adam as the authors' scripts run it.

        m <- b1 m + (1 - b1) g        v <- b2 v + (1 - b2) g^2
        w <- w - lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps)

    `torch.optim.Adam` adds eps to the bias-corrected sqrt(v / (1 - b2^t)) instead: in the first steps eps counts for
    less there. That matters where gradients are rounding noise, as for a bias before a normalisation.

    Example:
        >>> w = torch.zeros(1, requires_grad=True)
        >>> optimizer = TensorFlowAdam([w], lr=0.1)
        >>> w.grad = torch.full((1,), 1e-9)
        >>> optimizer.step()
        >>> round(w.item(), 4)  # lr g / (|g| + eps / sqrt(1 - b2)); eps beside |g| itself would give -0.0091
        -0.0003
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state.update(step=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
        state["step"] += 1
        beta1, beta2 = group["betas"]
        if group["weight_decay"]:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        mean, square = state["mean"], state["square"]
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        rate = group["lr"] * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        parameter.addcdiv_(mean, square.sqrt().add_(group["eps"]), value=-rate)


def make_optimizer(config: RunConfig, parameters: Iterable[Tensor]) -> Optimizer:
    """The optimizer that a configuration names; under the paper protocol `adam` is TensorFlow's."""
    learning = [p for p in parameters if p.requires_grad]
    common = {"lr": config.lr, "weight_decay": config.weight_decay}
    match config.optimizer:
        case "sgd":
            return SGD(learning, **common)
        case "momentum":
            return SGD(learning, momentum=config.momentum, **common)
        case "adamw":
            return AdamW(learning, **common)
        case "adam":
            return TensorFlowAdam(learning, **common) if config.protocol == "paper" else Adam(learning, **common)


def make_schedule(config: RunConfig, optimizer: Optimizer, steps: int) -> LambdaLR | None:
    """The factor on the learning rate over `steps` steps: 1, or falling to 0 along a cosine or a line."""
    if config.schedule == "constant":
        return None
    shape = _cosine if config.schedule == "cosine" else _linear
    return LambdaLR(optimizer, lambda step: shape(min(step / steps, 1.0)))


def _cosine(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


def _linear(done: float) -> float:
    return 1 - done
