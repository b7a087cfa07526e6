"""A multi-layer perceptron."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from widealign.models.activation import activation as activation_of
from widealign.nn import Linear


class MLP(nn.Module):
    """Linear layers with an activation after each but the last."""

    def __init__(
        self,
        in_features: int,
        widths: Sequence[int],
        num_classes: int,
        activation: str = "relu",
        parameterization: str = "ntk",
    ):
        super().__init__()
        sizes = [in_features, *widths]
        self.layers = nn.ModuleList(
            Linear(fan_in, fan_out, parameterize=parameterization) for fan_in, fan_out in pairwise(sizes)
        )
        self.activation = activation_of(activation)
        self.readout = Linear(sizes[-1], num_classes, parameterize=parameterization)

    def forward(self, x: Tensor) -> Tensor:
        """Takes (batch, ...), flattened to (batch, in_features); returns (batch, num_classes)."""
        x = x.flatten(1)
        for layer in self.layers:
            x = self.activation(layer(x))
        return self.readout(x)


def mlp(
    in_features: int,
    widths: Sequence[int],
    num_classes: int,
    activation: str = "relu",
    parameterization: str = "ntk",
) -> MLP:
    """A multi-layer perceptron with hidden layers of `widths`."""
    return MLP(in_features, widths, num_classes, activation, parameterization)
