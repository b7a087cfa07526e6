"""Parameterizations, the paper's layer, and the open forms of torch's fused layers."""

import itertools

import pytest
import torch
from torch import nn

from widealign import nn as wide

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("name", "std", "scale"), [("ntk", 1.0, 0.1), ("standard", 0.1, 1.0)])
def test_parameterization_scales_draws_and_forward_pass(name, std, scale):
    layer = wide.Linear(100, 3000, parameterize=name)
    assert layer.weight.std().item() == pytest.approx(std, rel=0.02)
    assert layer.forward_scale == pytest.approx(scale)
    x = torch.randn(2, 100)
    torch.testing.assert_close(layer(x), x @ layer.weight.T * scale + layer.bias)


def test_convolution_fan_in_counts_the_kernel():
    assert wide.Conv2d(4, 2, 3).forward_scale == pytest.approx((3 * 3 * 4) ** -0.5)


def test_unknown_parameterization_is_named():
    with pytest.raises(ValueError, match=r"'ntk', 'standard'.*'mup'"):
        wide.Linear(2, 2, parameterize="mup")


@pytest.mark.parametrize(
    ("size", "stride", "sides"), [(8, 2, (0, 1)), (7, 2, (1, 1)), (8, 1, (1, 1)), (224, 4, (0, 0))]
)
def test_same_padding_puts_the_larger_half_at_the_end(size, stride, sides):
    padded = wide.SamePad2d(3, stride)(torch.ones(1, 1, size, size))
    row = padded[0, 0, size // 2]
    assert (int((row[:2] == 0).sum()), int((row[-2:] == 0).sum())) == sides
    assert nn.functional.conv2d(padded, torch.ones(1, 1, 3, 3), stride=stride).shape[-1] == -(-size // stride)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_batch_axis_norm_is_its_formula_in_both_layouts(layout):
    x = torch.randn(5, 3, 4, 4, dtype=torch.float64).to(memory_format=layout)
    mean, variance = x.mean(0), x.var(0, correction=0)
    normal = wide.BatchAxisNorm()(x)
    torch.testing.assert_close(normal, (x - mean) / (variance + 1e-6).sqrt(), rtol=1e-10, atol=1e-12)
    assert normal.is_contiguous(memory_format=layout)


def test_gathered_statistics_make_an_example_independent_of_its_batch():
    torch.manual_seed(0)
    model = nn.Sequential(wide.PaperLayer(2, 3), nn.ReLU(), wide.PaperLayer(3, 4, stride=2)).double()
    batches = torch.randn(6, 7, 2, 8, 8, dtype=torch.float64).unbind()
    wide.gather_statistics(model, batches)
    first = model[0]
    z = first.conv(torch.cat(batches))
    torch.testing.assert_close(first.norm.statistics[0], z.mean(0), rtol=1e-10, atol=1e-12)
    model.eval()
    torch.testing.assert_close(model(batches[0])[:2], model(batches[0][:2]), rtol=1e-10, atol=1e-12)
    model.train()
    assert not torch.allclose(model(batches[0])[:2], model(batches[0][:2]))


FUSED = [
    (wide.RNN, nn.RNN, {}),
    (wide.RNN, nn.RNN, {"nonlinearity": "relu"}),
    (wide.GRU, nn.GRU, {}),
    (wide.LSTM, nn.LSTM, {}),
]
SHAPES = [
    {"num_layers": n, "bidirectional": b, "batch_first": f}
    for n, b, f in itertools.product((1, 2), *[(False, True)] * 2)
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("open_form", "fused", "extra"), FUSED)
def test_unrolled_layers_equal_the_fused_ones(open_form, fused, extra, shape):
    reference = fused(3, 4, **shape, **extra).double()
    unrolled = open_form.from_fused(reference)
    x = torch.randn(5, 6, 3, dtype=torch.float64)
    expected, state = reference(x)
    output, last = unrolled(x)
    torch.testing.assert_close(output, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(last, state, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(unrolled(x, state)[0], reference(x, state)[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_equals_the_fused_one(causal):
    fused = nn.MultiheadAttention(8, 2, batch_first=True).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64) if causal else None
    expected, _ = fused(x, x, x, attn_mask=mask)
    torch.testing.assert_close(wide.Attention.from_fused(fused, causal=causal)(x), expected, rtol=1e-10, atol=1e-12)


def test_attention_heads_must_divide_features():
    with pytest.raises(ValueError, match="multiple of heads; they are 9 and 2"):
        wide.Attention(9, 2)
