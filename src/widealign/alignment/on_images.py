"""The score of a convolution that acts on images, as the authors' scripts have it: exactly, without probes."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.grad import conv2d_input

from widealign.alignment.scores import same_shape, undefined
from widealign.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Images:
    """What a convolution's change acts on: images of this size, with this stride and TensorFlow's SAME padding."""

    height: int
    width: int
    stride: int = 1

    def __post_init__(self) -> None:
        """Refuses what is no image."""
        if min(self.height, self.width, self.stride) < 1:
            raise UsageError(f"Images() takes a height, a width and a stride of 1 or more; given {self}.")

    def forward(self, x: Tensor, kernel: Tensor) -> Tensor:
        """K x, the convolution."""
        rows, columns = self._padding(kernel)
        return F.conv2d(F.pad(x, (*columns, *rows)), kernel, stride=self.stride)

    def back(self, y: Tensor, kernel: Tensor) -> Tensor:
        """Kᵀ y, its transpose."""
        (top, bottom), (left, right) = self._padding(kernel)
        padded = (len(y), kernel.shape[1], self.height + top + bottom, self.width + left + right)
        x = conv2d_input(padded, kernel, y, stride=self.stride)
        return x[:, :, top : top + self.height, left : left + self.width]

    def _padding(self, kernel: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
        rows, columns = kernel.shape[2:]
        return same_padding(self.height, rows, self.stride), same_padding(self.width, columns, self.stride)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME padding before and after: at stride 2 on an even size, 0 and 1 for a kernel of 3.

    Example:
        >>> same_padding(32, 3, 1), same_padding(32, 3, 2)
        ((1, 1), (0, 1))
    """
    total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def require_kernel(shape: torch.Size) -> None:
    """An error unless this is the shape of a convolution's weights."""
    if len(shape) != 4:
        raise UsageError(f"Image probes need a kernel (out, in, k, k); the shape given is {tuple(shape)}.")


def score_images(delta_w: Any, delta_w_star: Any, images: Images, *, layer: str = "") -> float:
    """Equation 13 with Δ and Σ as operators on whole images: the number that image probes converge to.

        S = tr(Δ Σ) / sqrt(tr(Δ²) tr(Σ²)),     Δ = KᵀK,  Σ = K*ᵀK*,     tr(Δ Σ) = ‖K K*ᵀ‖²

    K is the convolution with ΔW as a matrix from images to maps. Away from the border all columns of K K*ᵀ are alike,
    so a small image gives them all.

    Args:
        delta_w: W(t) - W(0), a kernel (out, in, k, k).
        delta_w_star: The same of the companion.
        images: What the layer's inputs are.
        layer: Name for messages.

    Returns:
        A number in [0, 1]; `nan`, with a warning, where one of the changes is zero.

    Example:
        >>> change = torch.randn(4, 3, 3, 3)
        >>> round(score_images(change, 2 * change, Images(height=32, width=32)), 6)
        1.0
    """
    a, b = same_shape(delta_w, delta_w_star, layer)
    require_kernel(a.shape)
    if not (a.any() and b.any()):
        return undefined(layer)
    a, b = a / a.abs().max(), b / b.abs().max()
    cosine = _trace(a, b, images) / math.sqrt(_trace(a, a, images) * _trace(b, b, images))
    return min(max(cosine, -1.0), 1.0)


def _trace(a: Tensor, b: Tensor, images: Images) -> float:
    """‖K_a K_bᵀ‖², column by column: what a unit at one place of one map excites after one walk back and forth."""
    rows = _places(images.height, a.shape[2], images.stride)
    columns = _places(images.width, a.shape[3], images.stride)
    small = Images(height=_spanned(images.height, rows, images.stride),
                   width=_spanned(images.width, columns, images.stride), stride=images.stride)  # fmt: skip
    total = 0.0
    for row, row_count in enumerate(rows):
        for column, column_count in enumerate(columns):
            units = b.new_zeros(len(b), len(b), len(rows), len(columns))
            units[:, :, row, column] = torch.eye(len(b)).to(b)
            excited = small.forward(small.back(units, b), a)
            total += row_count * column_count * excited.double().square().sum().item()
    return total


def _places(size: int, kernel: int, stride: int) -> list[int]:
    """How many outputs along one side behave alike, from border to border.

    Example:
        >>> _places(32, 3, 1), _places(4, 3, 1)
        ([1, 1, 28, 1, 1], [1, 1, 1, 1])
    """
    outputs, border = math.ceil(size / stride), math.ceil((kernel - 1) / stride)
    inner = outputs - 2 * border
    return [*[1] * border, inner, *[1] * border] if inner > 1 else [1] * outputs


def _spanned(size: int, places: list[int], stride: int) -> int:
    """The side of an image that has only these places; what stride and padding leave over stays as it is."""
    return size - (sum(places) - len(places)) * stride
