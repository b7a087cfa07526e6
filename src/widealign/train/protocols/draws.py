"""The initial weights and the random feedback of the authors' scripts, number for number."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from widealign.models import CNN, MLP, AddRNN
from widealign.nn import Conv2d, Linear
from widealign.train.stream import Stream


def draw_network(
    model: nn.Module, stream: Stream, *, rule: str, input_shape: tuple[int, ...], outputs: int, shared: bool
) -> dict[str, Any]:
    """Give `model` the scripts' initial weights, in place. Returns the rule's options: the feedback drawn with them.

    Layer by layer, last the readout. FA draws a layer's B right after its W, DFA likewise for all but the readout: so
    their initial weights are not those of the other rules.

    Args:
        model: one of the paper's networks, or an MLP.
        stream: at its beginning.
        rule: `fa` and `dfa` have feedback of their own.
        input_shape: of one example.
        outputs: of the network.
        shared: DFA's B is the same at all locations.
    """
    if isinstance(model, AddRNN):
        _draw_add_rnn(model, stream)
        return {}
    if not isinstance(model, CNN | MLP):
        raise TypeError(
            f"the scripts have no weights for a {type(model).__name__}; a CNN, an MLP or an AddRNN is needed"
        )
    feedback: dict[str, Tensor] = {}
    for name, layer, entering, shape in _layers(model, input_shape):
        _set(layer.weight, _weight(layer, stream))
        if rule == "fa":
            feedback[f"{name}.weight"] = _like(_weight(layer, stream), layer.weight)
        if rule == "dfa" and entering is not None:
            matrix = _direct(stream, shape[:1] if shared else shape, outputs)
            feedback[entering] = _like(matrix, layer.weight)
    return {"feedback": feedback} if feedback else {}


def _layers(
    model: CNN | MLP, input_shape: tuple[int, ...]
) -> Iterator[tuple[str, Conv2d | Linear, str | None, tuple[int, ...]]]:
    """Name and module of each layer's weights, the site where its direct feedback enters, its activity's shape."""
    convolutional = isinstance(model, CNN)
    last = len(model.layers) - 1
    x = torch.zeros(2, *input_shape, device=model.readout.weight.device)
    x = x if convolutional else x.flatten(1)
    layers: list[Any] = list(model.layers)
    for index, layer in enumerate(layers):
        with torch.no_grad():
            x = layer(x)
        entering = f"layers.{index + 1}" if index < last else "entry" if convolutional else "readout"
        weights = layer.conv if convolutional else layer
        yield f"layers.{index}{'.conv' if convolutional else ''}", weights, entering, tuple(x.shape[1:])
    yield "readout", model.readout, None, ()


def _weight(layer: Conv2d | Linear, stream: Stream) -> np.ndarray:
    """A weight in torch's layout. The scripts hold it as (k, k, in, out), from a matrix drawn as (out, k·k·in)."""
    shape = layer.weight.shape
    fan_in = layer.weight[0].numel()
    matrix = stream.normal(shape[0], fan_in) * layer.parameterization.initial_scale(fan_in)
    if len(shape) == 2:
        return matrix
    return matrix.reshape(shape[0], *shape[2:], shape[1]).transpose(0, 3, 1, 2)


def _direct(stream: Stream, shape: tuple[int, ...], outputs: int) -> np.ndarray:
    """DFA's B of shape (features, outputs) for an activity of `shape`, channels first; the scripts have them last."""
    features = int(np.prod(shape))
    matrix = stream.normal(outputs, features, scale=features**-0.5)
    channels_last = matrix.reshape(outputs, *shape[1:], shape[0])
    return np.moveaxis(channels_last, -1, 1).reshape(outputs, features).T


def _draw_add_rnn(model: AddRNN, stream: Stream) -> None:
    width = model.readout.in_features
    _set(model.cell.input.weight, stream.normal(width)[:, None])
    _set(model.cell.hidden.weight, stream.normal(width, width).T)  # the script multiplies the state from the left
    _set(model.readout.weight, stream.normal(width)[None])


def _like(values: np.ndarray, parameter: Tensor) -> Tensor:
    """`values` in the device, type and, if it has the same shape, the memory layout of a parameter."""
    tensor = torch.from_numpy(np.ascontiguousarray(values)).to(parameter.device, parameter.dtype)
    return torch.empty_like(parameter, requires_grad=False).copy_(tensor) if tensor.shape == parameter.shape else tensor


def _set(parameter: Tensor, values: np.ndarray) -> None:
    with torch.no_grad():
        parameter.copy_(_like(values, parameter))
