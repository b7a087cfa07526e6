"""A site's place taken by a kept value: no forward computation, the gradient goes on by the initial weights."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from widealign.fast.statistics import deviation
from widealign.graph import carry, is_known
from widealign.nn import PaperLayer, SamePad2d

Forward = Callable[..., Any]


def replaceable(module: nn.Module) -> bool:
    """Whether a surrogate can carry an error back through the module: linear maps, convolutions, the paper's layer."""
    return isinstance(module, PaperLayer) or (is_known(module) and next(module.children(), None) is None)


def surrogate(
    module: nn.Module, value: Tensor, entering: Tensor, weight: Tensor, statistics: tuple[Tensor, Tensor] | None
) -> Tensor:
    """`value`, whose gradient reaches what `entering` came from as if the site with `weight` had made it."""
    if not isinstance(module, PaperLayer):
        return carry(module, value, entering, weight)
    assert statistics is not None
    scale = deviation(statistics[1], module.norm.eps)
    if value.is_contiguous(memory_format=torch.channels_last):
        scale = scale[None].contiguous(memory_format=torch.channels_last)[0]
    return _PaperSurrogate.apply(value, entering, weight, scale, module)


class _PaperSurrogate(torch.autograd.Function):
    """z = (conv(pad(h)) - mean) / deviation: the error is divided by the deviation, carried, and cropped."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, entering: Tensor, weight: Tensor, scale: Tensor, module: Any) -> Tensor:
        ctx.save_for_backward(weight, scale)
        ctx.module, ctx.shape = module, entering.shape
        last = entering.is_contiguous(memory_format=torch.channels_last)
        ctx.layout = torch.channels_last if last else torch.contiguous_format
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (arriving,), (weight, scale), module = gradients, ctx.saved_tensors, ctx.module
        if not ctx.needs_input_grad[1]:
            return None, None, None, None, None
        pads = isinstance(module.pad, SamePad2d)
        (top, bottom), (left, right) = module.pad.sides(ctx.shape) if pads else ((0, 0), (0, 0))
        height, width = ctx.shape[2] + top + bottom, ctx.shape[3] + left + right
        padded = torch.empty(
            (*ctx.shape[:2], height, width), dtype=arriving.dtype, device=arriving.device, memory_format=ctx.layout
        )
        conv = module.conv
        gradient = torch.ops.aten.convolution_backward(
            arriving * scale, padded, weight * conv.forward_scale, None,
            conv.stride, conv.padding, conv.dilation, False, [0, 0], conv.groups, (True, False, False),
        )[0]  # fmt: skip
        return None, gradient[:, :, top : height - bottom, left : width - right], None, None, None


@contextlib.contextmanager
def replaced(forwards: Mapping[nn.Module, Forward]) -> Iterator[None]:
    """While it lasts, calling one of the modules calls the given function instead; hooks run as ever."""
    before = {module: vars(module).get("forward") for module in forwards}
    for module, forward in forwards.items():
        vars(module)["forward"] = forward
    try:
        yield
    finally:
        for module, forward in before.items():
            if forward is None:
                del vars(module)["forward"]
            else:
                vars(module)["forward"] = forward
