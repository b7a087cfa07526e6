"""A small residual network with group normalisation, to show that the rules take any graph."""

from torch import Tensor, nn

from widealign.models.activation import activation as activation_of
from widealign.nn import Conv2d, Linear


class Block(nn.Module):
    """x + conv(σ(norm(conv(σ(norm(x)))))), with a 1x1 shortcut where the shape changes."""

    def __init__(self, fan_in: int, fan_out: int, stride: int, activation: str, parameterization: str):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(_groups(fan_in), fan_in), nn.GroupNorm(_groups(fan_out), fan_out)
        self.conv1 = Conv2d(fan_in, fan_out, 3, stride, padding=1, parameterize=parameterization)
        self.conv2 = Conv2d(fan_out, fan_out, 3, padding=1, parameterize=parameterization)
        same = stride == 1 and fan_in == fan_out
        self.shortcut = nn.Identity() if same else Conv2d(fan_in, fan_out, 1, stride, parameterize=parameterization)
        self.activation = activation_of(activation)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        change = self.conv1(self.activation(self.norm1(x)))
        change = self.conv2(self.activation(self.norm2(change)))
        return self.shortcut(x) + change


class ResNet(nn.Module):
    """A stem, three stages of residual blocks at width, twice and four times the width, pool and readout."""

    def __init__(
        self, width: int, num_classes: int, in_channels: int, blocks: int, activation: str, parameterization: str
    ):
        super().__init__()
        self.stem = Conv2d(in_channels, width, 3, padding=1, parameterize=parameterization)
        widths = [width * 2**stage for stage in range(3) for _ in range(blocks)]
        fan_ins = [width, *widths[:-1]]
        self.blocks = nn.Sequential(
            *(
                Block(fan_in, fan_out, 1 if fan_in == fan_out else 2, activation, parameterization)
                for fan_in, fan_out in zip(fan_ins, widths, strict=True)
            )
        )
        self.norm = nn.GroupNorm(_groups(widths[-1]), widths[-1])
        self.activation = activation_of(activation)
        self.readout = Linear(widths[-1], num_classes, parameterize=parameterization)

    def forward(self, x: Tensor) -> Tensor:
        """Takes (batch, channels, height, width), returns (batch, classes)."""
        x = self.activation(self.norm(self.blocks(self.stem(x))))
        return self.readout(x.mean((2, 3)))


def resnet(
    width: int,
    num_classes: int = 10,
    in_channels: int = 3,
    blocks: int = 1,
    activation: str = "relu",
    parameterization: str = "ntk",
) -> ResNet:
    """A small residual network with `blocks` blocks in each of three stages."""
    return ResNet(width, num_classes, in_channels, blocks, activation, parameterization)


def _groups(channels: int) -> int:
    return next(groups for groups in (8, 4, 2, 1) if channels % groups == 0)
