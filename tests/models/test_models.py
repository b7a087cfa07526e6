"""Each network's shape and size, counted by hand."""

import pytest
import torch

from widealign import models

pytestmark = pytest.mark.quick


def convolutions(in_channels: int, width: int, layers: int) -> int:
    return 9 * in_channels * width + width + (layers - 1) * (9 * width * width + width)


CASES = [
    (models.cifar_cnn(8), (4, 3, 32, 32), (4, 10), convolutions(3, 8, 7) + 8 * 10 + 10, 3_818),
    (models.kmnist_cnn(16), (4, 1, 28, 28), (4, 10), convolutions(1, 16, 3) + 16 * 10 + 10, 4_970),
    (models.imagenet_cnn(4), (2, 3, 64, 64), (2, 1000), convolutions(3, 4, 7) + 4 * 1000 + 1000, 6_000),
    (models.mlp(5, (7, 6), 3), (4, 5), (4, 3), 5 * 7 + 7 + 7 * 6 + 6 + 6 * 3 + 3, 111),
    (models.add_rnn(8), (50, 9), (50, 9), 50 * 8 + 8 + 8 * 8 + 8 + 8 + 1, 489),
    (models.resnet(8), (2, 3, 16, 16), (2, 10), 224 + 1_200 + 3_680 + 14_528 + 64 + 330, 20_026),
]


@pytest.mark.parametrize(("model", "shape", "output", "by_hand", "pinned"), CASES, ids=lambda v: type(v).__name__)
def test_parameter_count_and_output(model, shape, output, by_hand, pinned):
    count = sum(p.numel() for p in model.parameters())
    assert count == pinned
    assert count == by_hand
    assert model(torch.rand(shape)).shape == output


def test_transformer_predicts_tokens_from_the_past_only():
    torch.manual_seed(0)
    model = models.transformer(16)
    assert sum(p.numel() for p in model.parameters()) == 8_672
    tokens = torch.randint(0, 32, (2, 10))
    later = tokens.clone()
    later[:, 7:] = (later[:, 7:] + 1) % 32
    before, after = model(tokens), model(later)
    assert before.shape == (2, 10, 32)
    torch.testing.assert_close(before[:, :7], after[:, :7])
    assert not torch.allclose(before[:, 7:], after[:, 7:])


def test_strides_halve_as_in_the_scripts():
    sizes = []
    model = models.cifar_cnn(2)
    for layer in model.layers:
        layer.register_forward_hook(lambda module, inputs, output: sizes.append(output.shape[-1]))
    model(torch.rand(2, 3, 32, 32))
    assert sizes == [32, 32, 32, 16, 16, 8, 8]


def test_unknown_activation_is_named():
    with pytest.raises(ValueError, match=r"'relu', 'tanh'.*'gelu'"):
        models.cifar_cnn(2, activation="gelu")


@pytest.mark.parametrize("batch", [3, 50, 120])
def test_initial_state_has_a_row_for_every_example(batch):
    model = models.add_rnn(4)
    with torch.no_grad():
        model.initial_state.value.copy_(torch.randn(50, 4))
    assert torch.equal(model.initial_state(batch)[batch - 1], model.initial_state.value[(batch - 1) % 50])
