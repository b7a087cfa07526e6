"""The scripts' weights and feedback, index by index, against NumPy's own generator."""

import math

import numpy as np
import pytest
import torch

from widealign import models
from widealign.train import Stream
from widealign.train.protocols.draws import draw_network

pytestmark = pytest.mark.quick


def _draw(model, rule="normal", shape=(3, 8, 8), shared=False):
    return draw_network(model, Stream(99), rule=rule, input_shape=shape, outputs=10, shared=shared)


@pytest.mark.parametrize("parameterization", ["ntk", "standard"])
def test_weights_come_layer_by_layer_in_the_scripts_layout(parameterization):
    model = models.cifar_cnn(4, parameterization=parameterization)
    assert _draw(model) == {}
    numpy, channels = np.random.RandomState(99), 3
    for layer in model.layers:
        fan_in = 9 * channels
        size = 1 if parameterization == "ntk" else 1 / math.sqrt(fan_in)
        drawn = (size * numpy.normal(scale=1, size=(4, fan_in)).T).reshape(3, 3, channels, 4)
        for row, column, before, after in [(0, 0, 0, 0), (1, 2, channels - 1, 3), (2, 0, 1, 2)]:
            ours = layer.conv.weight[after, before, row, column].item()
            assert ours == pytest.approx(drawn[row, column, before, after], rel=1e-6)
        assert not layer.conv.bias.any()
        channels = 4
    size = 1 if parameterization == "ntk" else 1 / math.sqrt(4)
    readout = (size * numpy.normal(size=(10, 4)).T).T
    assert np.allclose(model.readout.weight.detach().numpy(), readout, rtol=1e-6)


def test_fa_draws_a_layers_feedback_right_after_its_weights():
    model = models.kmnist_cnn(4)
    feedback = _draw(model, "fa", (1, 8, 8))["feedback"]
    assert list(feedback) == ["layers.0.conv.weight", "layers.1.conv.weight", "layers.2.conv.weight", "readout.weight"]
    numpy = np.random.RandomState(99)
    for name, channels in zip(list(feedback)[:3], (1, 4, 4), strict=True):
        for tensor in (model.get_parameter(name), feedback[name]):
            drawn = numpy.normal(scale=1, size=(4, 9 * channels)).T.reshape(3, 3, channels, 4)
            assert tensor[3, channels - 1, 1, 2].item() == pytest.approx(drawn[1, 2, channels - 1, 3], rel=1e-6)
    for tensor in (model.readout.weight, feedback["readout.weight"]):
        assert np.allclose(tensor.detach().numpy(), numpy.normal(size=(10, 4)), rtol=1e-6)


def test_dfa_draws_a_matrix_for_every_convolution_that_enters_after_its_activation():
    model = models.kmnist_cnn(4)
    feedback = _draw(model, "dfa", (1, 8, 8))["feedback"]
    assert list(feedback) == ["layers.1", "layers.2", "entry"]
    numpy, channels = np.random.RandomState(99), 1
    for name, side in zip(feedback, (8, 4, 2), strict=True):
        numpy.normal(scale=1, size=(4, 9 * channels))
        count = side * side * 4
        drawn = numpy.normal(scale=1 / math.sqrt(count), size=(10, count)).T.reshape(side, side, 4, 10)
        ours = feedback[name].reshape(4, side, side, 10)
        for row, column, channel, output in [(0, 0, 0, 0), (1, 0, 3, 9), (0, 1, 2, 4)]:
            assert ours[channel, row, column, output].item() == pytest.approx(
                drawn[row, column, channel, output], rel=1e-6
            )
        channels = 4


def test_dfa_on_large_images_shares_a_matrix_over_all_locations():
    feedback = _draw(models.kmnist_cnn(4), "dfa", (1, 8, 8), shared=True)["feedback"]
    assert [tuple(matrix.shape) for matrix in feedback.values()] == [(4, 10)] * 3


def test_the_recurrent_network():
    model = models.add_rnn(5)
    _draw(model, shape=(100,))
    numpy = np.random.RandomState(99)
    w_in, w_hidden, w_out = numpy.normal(size=5), numpy.normal(size=(5, 5)), numpy.normal(size=5)
    state = np.array([1.0, -2.0, 0.5, 3.0, 0.1])
    bit = 1.0
    expected = np.maximum(bit * w_in + state @ w_hidden / math.sqrt(5), 0)  # the script multiplies from the left
    ours = model.cell(torch.tensor(state, dtype=torch.float32)[None], torch.tensor([[bit]]))
    assert np.allclose(ours.detach().numpy()[0], expected, atol=1e-5)
    output = model.readout(torch.tensor(state, dtype=torch.float32)).item()
    assert output == pytest.approx(state @ w_out / math.sqrt(5), rel=1e-5)
    assert not model.initial_state.value.any()


def test_a_network_that_the_scripts_do_not_have():
    with pytest.raises(TypeError, match="the scripts have no weights for a Linear"):
        _draw(torch.nn.Linear(2, 2))
