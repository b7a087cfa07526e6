"""Chained rules carry the error through linear maps and convolutions by a fast path: held against autograd's own."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call

import widealign
import widealign.nn as wide

pytestmark = pytest.mark.quick

CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


class Gain(nn.Module):
    """A site before the layer, so that the error has somewhere to go."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(shape))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gain


def sizes(dimensions: int, low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(low, high)] * dimensions)


@st.composite
def linear_layers(draw: st.DrawFn) -> tuple[nn.Module, tuple[int, ...]]:
    fan_in, fan_out, bias = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.booleans())
    kind = draw(st.sampled_from([nn.Linear, wide.Linear]))
    leading = draw(st.lists(st.integers(1, 3), max_size=3))
    return kind(fan_in, fan_out, bias), (*leading, fan_in)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[nn.Module, tuple[int, ...]]:
    dimensions = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 2))
    channels, filters = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    kernel, dilation = draw(sizes(dimensions, 1, 3)), draw(sizes(dimensions, 1, 2))
    stride = draw(sizes(dimensions, 1, 2))
    padding: Any = draw(st.one_of(sizes(dimensions, 0, 2), st.sampled_from(["same", "valid"])))
    layer = CONVOLUTIONS[dimensions](
        channels,
        filters,
        kernel,
        stride=1 if padding == "same" else stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        bias=draw(st.booleans()),
        padding_mode=draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"])),
    )
    size = [d * (k - 1) + 1 + draw(st.integers(0, 2)) for d, k in zip(dilation, kernel, strict=True)]
    batch = draw(st.sampled_from([(), (1,), (2,)]))
    return layer, (*batch, channels, *(max(s, 3) for s in size))


@st.composite
def transposed(draw: st.DrawFn) -> tuple[nn.Module, tuple[int, ...]]:
    dimensions = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 2))
    channels, filters = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    kernel, dilation = draw(sizes(dimensions, 1, 3)), draw(sizes(dimensions, 1, 2))
    stride = draw(sizes(dimensions, 1, 3))
    extra = tuple(draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True))
    layer = TRANSPOSED[dimensions](
        channels,
        filters,
        kernel,
        stride,
        draw(st.sampled_from([0, 0, 1])),
        extra,
        groups,
        draw(st.booleans()),
        dilation,
    )
    batch = draw(st.sampled_from([(), (2,)]))
    return layer, (*batch, channels, *draw(sizes(dimensions, 3, 4)))


@st.composite
def scaled_convolutions(draw: st.DrawFn) -> tuple[nn.Module, tuple[int, ...]]:
    channels, kernel, stride, padding = (draw(st.integers(1, 3)) for _ in range(4))
    layer = wide.Conv2d(channels, draw(st.integers(1, 3)), kernel, stride, padding - 1, bias=draw(st.booleans()))
    return layer, (2, channels, *draw(sizes(2, 3, 5)))


def check_layer(layer: nn.Module, shape: tuple[int, ...]) -> None:
    """Gain -> layer -> loss: s = e at the layer, and B^T s at the gain, with B in the layer's place."""
    before = Gain(shape).double()
    layer = layer.double()
    learner = widealign.FA(nn.Sequential(before, layer))
    x = torch.randn(shape).double()
    output = learner(x)
    error = torch.randn_like(output)
    output.backward(error)

    h = (x * before.gain).detach().requires_grad_()
    B = {name: learner.feedback[f"1.{name}"] for name, _ in layer.named_parameters()}
    assert not torch.equal(B["weight"], layer.weight)
    (at_input,) = torch.autograd.grad(functional_call(layer, B, (h,)), h, error)
    names = [name for name, _ in layer.named_parameters()]
    own = torch.autograd.grad(layer(h), list(layer.parameters()), error)

    close = {"rtol": 1e-10, "atol": 1e-12}
    torch.testing.assert_close(output.detach(), layer(h).detach(), rtol=0, atol=0)
    torch.testing.assert_close(before.gain.grad, at_input * x, **close)
    for name, expected in zip(names, own, strict=True):
        torch.testing.assert_close(layer.get_parameter(name).grad, expected, **close)


@settings(max_examples=15, deadline=None)
@given(linear_layers())
def test_linear(drawn: tuple[nn.Module, tuple[int, ...]]):
    check_layer(*drawn)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_convolution(drawn: tuple[nn.Module, tuple[int, ...]]):
    check_layer(*drawn)


@settings(max_examples=30, deadline=None)
@given(transposed())
def test_transposed_convolution(drawn: tuple[nn.Module, tuple[int, ...]]):
    check_layer(*drawn)


@settings(max_examples=15, deadline=None)
@given(scaled_convolutions())
def test_convolution_under_a_parameterization(drawn: tuple[nn.Module, tuple[int, ...]]):
    check_layer(*drawn)
