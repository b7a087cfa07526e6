"""Backprop whose update goes straight into the weights: the opponent of the rules that do so.

    s_{l-1} = c W_l^T s_l   and, in the same moment,   W_l += -η s_l (c h_{l-1})^T

No gradient tensors are made, and no optimizer passes over them. For plain SGD on linear layers.
"""

from typing import Any

import torch
from torch import Tensor, nn

from widealign.nn import Linear


class InPlaceLinear(nn.Module):
    """A linear layer that learns during the backward pass."""

    def __init__(self, layer: Linear, lr: float):
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.scale, self.lr = layer.forward_scale, lr

    def forward(self, h: Tensor) -> Tensor:
        """Gives z = c W h + b."""
        return _LearnOnTheWay.apply(h, self.weight, self.bias, self.scale, self.lr)


class _LearnOnTheWay(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, scale: float, lr: float) -> Tensor:
        ctx.save_for_backward(h, weight, bias)
        ctx.scale, ctx.lr = scale, lr
        return torch.addmm(bias, h, weight.T, alpha=scale)

    @staticmethod
    def backward(ctx: Any, *signals: Any) -> Any:
        (s,), (h, weight, bias) = signals, ctx.saved_tensors
        below = (s * ctx.scale) @ weight if ctx.needs_input_grad[0] else None
        weight.addmm_(s.T, h, alpha=-ctx.lr * ctx.scale)
        bias.sub_(s.sum(0), alpha=ctx.lr)
        return below, None, None, None, None


def learning_in_place(model: nn.Module, lr: float) -> nn.Module:
    """The model with every linear layer replaced."""
    for name, layer in list(model.named_modules()):
        if isinstance(layer, Linear):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, InPlaceLinear(layer, lr))
    return model
