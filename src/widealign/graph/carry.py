"""Carrying an error back through one module with other weights than those it computes with.

A table of modules whose input gradient is one known operation; every other module is called a second time.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from widealign import nn as wide
from widealign.graph.layout import blank

InputGradient = Callable[[nn.Module, Tensor, Tensor, torch.Size], Tensor]


def carry(module: nn.Module, output: Tensor, entering: Tensor, feedback: Tensor) -> Tensor:
    """`output`, whose gradient reaches the module's own graph and, through `feedback`, what `entering` came from.

    No second forward pass: with error g the gradient for the input is g B, whatever weights made the output.
    """
    return _Carry.apply(output, entering, feedback, module)


def is_known(module: nn.Module) -> bool:
    """Whether the table has the module's input gradient.

    A module with a forward of its own, or with hooks, may compute something else.
    """
    if type(module).forward not in _KNOWN or "forward" in vars(module) or "weight" not in module._parameters:
        return False
    hooks = (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
    if module._backward_hooks or module._backward_pre_hooks or any(not getattr(h, "of_rules", False) for h in hooks):
        return False
    if not isinstance(module, nn.modules.conv._ConvNd):
        return True
    given = getattr(type(module), "_conv_forward", None)
    return module.padding_mode == "zeros" and not isinstance(module.padding, str) and given in _CONV_FORWARDS


class _Carry(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, entering: Tensor, feedback: Tensor, module: nn.Module) -> Tensor:
        ctx.save_for_backward(feedback)
        ctx.module, ctx.shape, ctx.dtype = module, entering.shape, entering.dtype
        return output.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (signal,), (feedback,) = gradients, ctx.saved_tensors
        gradient = None
        if ctx.needs_input_grad[1]:
            known = _KNOWN[type(ctx.module).forward]
            gradient = known(ctx.module, signal, feedback.to(signal.dtype), ctx.shape).to(ctx.dtype)
        return signal, gradient, None, None


def _linear(module: nn.Module, signal: Tensor, feedback: Tensor, shape: torch.Size) -> Tensor:
    return signal @ feedback


def _convolution(module: Any, signal: Tensor, feedback: Tensor, shape: torch.Size) -> Tensor:
    spatial = module.weight.dim() - 2
    batched = signal if signal.dim() == spatial + 2 else signal.unsqueeze(0)
    full = shape if len(shape) == spatial + 2 else (1, *shape)
    extra = [0] * spatial
    if module.transposed:  # what output_size= added, if anything, in place of the module's own output_padding
        kernel, stride, padding, dilation = module.kernel_size, module.stride, module.padding, module.dilation
        extra = [
            batched.shape[2 + d] - ((full[2 + d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel[d] - 1) + 1)
            for d in range(spatial)
        ]
    gradient = torch.ops.aten.convolution_backward(
        batched,
        blank(full, like=batched),  # only its shape and its layout are used
        feedback,
        None,
        module.stride,
        module.padding,
        module.dilation,
        module.transposed,
        extra,
        module.groups,
        (True, False, False),
    )[0]
    return gradient.reshape(shape)


def _scaled_linear(module: Any, signal: Tensor, feedback: Tensor, shape: torch.Size) -> Tensor:
    return _linear(module, signal * module.forward_scale, feedback, shape)


def _scaled_convolution(module: Any, signal: Tensor, feedback: Tensor, shape: torch.Size) -> Tensor:
    return _convolution(module, signal, feedback * module.forward_scale, shape)


_CONV_FORWARDS = (nn.Conv1d._conv_forward, nn.Conv2d._conv_forward, nn.Conv3d._conv_forward, None)
_KNOWN: dict[Any, InputGradient] = {
    nn.Linear.forward: _linear,
    wide.Linear.forward: _scaled_linear,
    wide.Conv2d.forward: _scaled_convolution,
    **dict.fromkeys(
        (
            nn.Conv1d.forward,
            nn.Conv2d.forward,
            nn.Conv3d.forward,
            nn.ConvTranspose1d.forward,
            nn.ConvTranspose2d.forward,
            nn.ConvTranspose3d.forward,
        ),
        _convolution,
    ),
}
