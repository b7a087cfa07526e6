"""The paper's convolutional networks, by width."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from widealign.models.activation import activation as activation_of
from widealign.nn import Entry, Linear, PaperLayer


class CNN(nn.Module):
    """3x3 layers, each normalised over the batch; activation between them; global average pool; linear readout.

    There is no activation before the first layer. `entry` is where direct feedback enters for the last layer, after
    its activation and before the pool. Weights and activities lie channels last in memory, whatever the layout of the
    input: convolutions are faster so.
    """

    def __init__(
        self,
        in_channels: int,
        width: int,
        strides: Sequence[int],
        num_classes: int,
        activation: str = "relu",
        parameterization: str = "ntk",
    ):
        super().__init__()
        channels = [in_channels] + [width] * (len(strides) - 1)
        self.layers = nn.ModuleList(
            PaperLayer(size, width, stride=stride, parameterize=parameterization)
            for size, stride in zip(channels, strides, strict=True)
        )
        self.activation = activation_of(activation)
        self.entry = Entry()
        self.readout = Linear(width, num_classes, parameterize=parameterization)
        self.to(memory_format=torch.channels_last)  # pyrefly: ignore

    def forward(self, x: Tensor) -> Tensor:
        """Takes (batch, channels, height, width), returns (batch, classes)."""
        x = x.contiguous(memory_format=torch.channels_last)
        for layer in self.layers:
            x = self.activation(layer(x))
        return self.readout(self.entry(x).mean((2, 3)))


def cifar_cnn(
    width: int,
    activation: str = "relu",
    parameterization: str = "ntk",
    num_classes: int = 10,
    in_channels: int = 3,
) -> CNN:
    """The paper's network for CIFAR-10: seven convolutions and a readout."""
    return CNN(in_channels, width, (1, 1, 1, 2, 1, 2, 1), num_classes, activation, parameterization)


def kmnist_cnn(
    width: int,
    activation: str = "relu",
    parameterization: str = "ntk",
    num_classes: int = 10,
    in_channels: int = 1,
) -> CNN:
    """The paper's network for KMNIST: three convolutions and a readout."""
    return CNN(in_channels, width, (1, 2, 2), num_classes, activation, parameterization)


def imagenet_cnn(
    width: int,
    activation: str = "relu",
    parameterization: str = "ntk",
    num_classes: int = 1000,
    in_channels: int = 3,
) -> CNN:
    """The paper's network for ImageNet: seven convolutions, the first at stride 4, and a readout."""
    return CNN(in_channels, width, (4, 2, 1, 2, 1, 2, 1), num_classes, activation, parameterization)
