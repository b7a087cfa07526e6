"""The paper's convolutional layer, and small modules around it."""

import torch
from torch import Tensor, nn

from widealign.nn.batch_axis_norm import BatchAxisNorm
from widealign.nn.linear import Conv2d
from widealign.nn.parameterization import Parameterization


class SamePad2d(nn.Module):
    """TensorFlow's SAME padding: an output of ceil(size / stride), with the larger half of the padding at the end.

    At stride 2 on an even size, a 3x3 kernel gets 0 before and 1 after; not 1 and 1, which PyTorch's padding=1 gives.
    """

    def __init__(self, kernel_size: int, stride: int):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride

    def forward(self, x: Tensor) -> Tensor:
        """Pads height and width."""
        (top, bottom), (left, right) = self.sides(x.shape)
        return nn.functional.pad(x, (left, right, top, bottom)) if top or bottom or left or right else x

    def sides(self, shape: torch.Size) -> tuple[tuple[int, int], tuple[int, int]]:
        """What is added above and below, left and right."""
        return self._side(shape[-2]), self._side(shape[-1])

    def _side(self, size: int) -> tuple[int, int]:
        total = max((-(-size // self.stride) - 1) * self.stride + self.kernel_size - size, 0)
        return total // 2, total - total // 2


class PaperLayer(nn.Module):
    """z = normalise(c W * h + b), one site: weights and normalisation.

    With stride 1 the convolution pads by itself, which is the same and saves a copy.
    """

    learning_site = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        parameterize: str | Parameterization = "ntk",
    ):
        super().__init__()
        own = stride == 1 and kernel_size % 2 == 1
        self.pad = nn.Identity() if own else SamePad2d(kernel_size, stride)
        padding = kernel_size // 2 if own else 0
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, padding, parameterize=parameterize)
        self.norm = BatchAxisNorm()

    def forward(self, h: Tensor) -> Tensor:
        """The layer's z for the activity h of the layer before."""
        return self.norm(self.conv(self.pad(h)))


class Entry(nn.Identity):
    """A site without parameters: where direct feedback enters although no layer's input is there."""

    learning_site = True


class InitialState(nn.Module):
    """A trained initial state, one row for each row of a batch. It is an input of the network, not a synapse.

    A batch of another size takes the rows in turn.
    """

    is_input = True

    def __init__(self, rows: int, width: int):
        super().__init__()
        self.value = nn.Parameter(Tensor(rows, width).zero_())

    def forward(self, batch: int) -> Tensor:
        """The states for a batch of this size."""
        rows = len(self.value)
        return self.value if batch == rows else self.value[[row % rows for row in range(batch)]]
