"""Linear maps and convolutions under a parameterization: z = c W h + b."""

from torch import Tensor, nn

from widealign.nn.parameterization import Parameterization, parameterization


class Linear(nn.Linear):
    """`nn.Linear` under a parameterization; biases start at zero.

    Example:
        >>> import torch
        >>> layer = Linear(10_000, 3)  # NTK: weights of size 1, outputs of size 1 at any fan-in
        >>> bool(0.9 < layer.weight.std() < 1.1), layer.forward_scale
        (True, 0.01)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, parameterize: str | Parameterization = "ntk"
    ):
        self.parameterization = parameterization(parameterize)
        self.forward_scale = self.parameterization.forward_scale(in_features)
        super().__init__(in_features, out_features, bias)

    def reset_parameters(self) -> None:
        """Draws W ~ N(0, s²) and sets b = 0."""
        _draw(self, self.parameterization.initial_scale(self.in_features))

    def forward(self, input: Tensor) -> Tensor:
        """Returns W (c h) + b: a batch is smaller than a wide weight."""
        return nn.functional.linear(_scaled(input, self.forward_scale), self.weight, self.bias)


class Conv2d(nn.Conv2d):
    """`nn.Conv2d` under a parameterization, with fan-in k·k·channels; biases start at zero."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
        parameterize: str | Parameterization = "ntk",
    ):
        fan_in = in_channels * kernel_size * kernel_size
        self.parameterization = parameterization(parameterize)
        self.forward_scale = self.parameterization.forward_scale(fan_in)
        super().__init__(in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=bias)

    def reset_parameters(self) -> None:
        """Draws W ~ N(0, s²) and sets b = 0."""
        _draw(self, self.parameterization.initial_scale(self.weight[0].numel()))

    def forward(self, input: Tensor) -> Tensor:
        """Returns (c W) * h + b: a kernel is smaller than a batch of images."""
        return self._conv_forward(input, _scaled(self.weight, self.forward_scale), self.bias)


def _scaled(tensor: Tensor, scale: float) -> Tensor:
    return tensor if scale == 1 else tensor * scale


def _draw(module: nn.Linear | nn.Conv2d, scale: float) -> None:
    nn.init.normal_(module.weight, std=scale)
    if module.bias is not None:
        nn.init.zeros_(module.bias)
