"""The alignment score of equation 13, exactly."""

import warnings
from typing import Any

import torch
from torch import Tensor

from widealign.errors import Diverged, UsageError


def as_matrix(delta: Any) -> Tensor:
    """A weight change as (out, fan-in): a convolution kernel (out, in, k, k) becomes (out, in * k * k).

    Takes tensors, NumPy arrays and nested lists.

    Example:
        >>> as_matrix(torch.zeros(8, 3, 3, 3)).shape
        torch.Size([8, 27])
    """
    tensor = torch.as_tensor(delta)
    if tensor.ndim < 2 or tensor.numel() == 0:
        raise UsageError(
            f"An alignment score needs a weight matrix (out, in) or a kernel (out, in, k, k); the shape given is "
            f"{tuple(tensor.shape)}. Leave biases out."
        )
    return tensor.detach().flatten(1)


def same_shape(delta_w: Any, delta_w_star: Any, layer: str = "") -> tuple[Tensor, Tensor]:
    """Both changes as real tensors of one shape and type, detached; an error unless they are that, and finite."""
    a, b = (_tensor(delta, layer) for delta in (delta_w, delta_w_star))
    if a.shape != b.shape:
        raise UsageError(
            f"The two weight changes{_of(layer)} must have one shape; they have {tuple(a.shape)} and {tuple(b.shape)}."
        )
    common = torch.promote_types(a.dtype, b.dtype)
    return a.to(common), b.to(common)


def _tensor(delta: Any, layer: str) -> Tensor:
    try:
        tensor = torch.as_tensor(delta).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"A weight change{_of(layer)} must be a tensor or an array of numbers; {error}.") from None
    if tensor.is_complex():
        raise UsageError(f"A weight change{_of(layer)} must be real; its type is {tensor.dtype}.")
    tensor = tensor if tensor.is_floating_point() else tensor.double()
    if not tensor.isfinite().all():
        raise Diverged(f"The weight change{_of(layer)} must be finite; it holds inf or nan: training has diverged.")
    return tensor


def score(delta_w: Any, delta_w_star: Any, *, groups: int = 1, layer: str = "") -> float:
    """Cosine between Δ = ΔW^T ΔW and Σ = ΔW*^T ΔW* (equation 13).

        S = tr(Δ Σ) / sqrt(tr(Δ²) tr(Σ²)),     tr(Δ Σ) = ‖ΔW ΔW*^T‖²,   ‖.‖ the Frobenius norm

    The right-hand form needs out × out matrices only. Where fan-in is the smaller side, Δ and Σ themselves are the
    small matrices. Products are summed in float64.

    Args:
        delta_w: W(t) - W(0), of shape (out, in) or (out, in, k, k): a tensor or a NumPy array.
        delta_w_star: The same change of the companion weights.
        groups: Of a convolution: its matrix then has that many blocks, and traces add up.
        layer: Name for messages.

    Returns:
        A number in [-1, 1] (Δ and Σ have no negative eigenvalue, so in fact in [0, 1]); `nan`, with a warning, where
        one of the changes is zero.

    Example:
        >>> change = torch.randn(16, 9)
        >>> round(score(change, 3 * change), 12)
        1.0
        >>> score(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))  # different inputs have been learned from
        0.0
    """
    a, b = (_unit(as_matrix(delta)) for delta in same_shape(delta_w, delta_w_star, layer))
    if a is None or b is None:
        return undefined(layer)
    if groups < 1 or len(a) % groups:
        raise UsageError(f"groups= must divide the {len(a)} outputs{_of(layer)}; it is {groups}.")
    a, b = (change.unflatten(0, (groups, -1)) for change in (a, b))
    if a.shape[2] <= a.shape[1]:
        delta, sigma = a.mT @ a, b.mT @ b
        cosine = (delta * sigma).sum() / (delta.norm() * sigma.norm())
    else:
        cosine = (a @ b.mT).square().sum() / ((a @ a.mT).norm() * (b @ b.mT).norm())
    return cosine.clamp(-1.0, 1.0).item()


def score_sketched(delta_w: Any, delta_w_star: Any, *, rank: int = 8, layer: str = "") -> float:
    """`score` within the `rank` leading directions of either change: for weights too large to be scored often.

        S ≈ score(ΔW Q, ΔW* Q),   Q an orthonormal basis of [Δ Ω, Σ Ω],  Ω Gaussian, fan-in × rank

    Squares of Δ and Σ weigh directions by the fourth power of the singular values, and the changes of training are
    nearly of low rank, so a few directions hold nearly all of the score. What is left out would lower it: the sketch
    is too high by up to 0.01. Costs about 8 · rank · out · fan-in.

    Example:
        >>> a, b = (torch.randn(50, 2) @ torch.randn(2, 40) for _ in range(2))
        >>> abs(score_sketched(a, b) - score(a, b)) < 1e-4
        True
    """
    matrices = [as_matrix(delta) for delta in same_shape(delta_w, delta_w_star, layer)]
    if min(matrices[0].shape) <= 2 * rank:
        return score(*matrices, layer=layer)
    a, b = (_unit(matrix, torch.float32) for matrix in matrices)
    if a is None or b is None:
        return undefined(layer)
    omega = torch.randn(a.shape[1], rank, generator=torch.Generator().manual_seed(0)).to(a)
    basis = torch.linalg.qr(torch.cat([a.mT @ (a @ omega), b.mT @ (b @ omega)], 1)).Q
    return score(a @ basis, b @ basis, layer=layer)


def _unit(matrix: Tensor, dtype: torch.dtype = torch.float64) -> Tensor | None:
    """Of largest entry 1, so that no square under- or overflows; None for no change."""
    largest = matrix.abs().max().double()
    return (matrix.double() / largest).to(dtype) if largest > 0 else None


def undefined(layer: str = "") -> float:
    """The score of a layer that has not changed: nan, with a warning."""
    message = f"The weights{_of(layer)} have not changed, so their alignment score is undefined (nan)."
    warnings.warn(message, RuntimeWarning, stacklevel=3)
    return float("nan")


def _of(layer: str) -> str:
    return f" of layer '{layer}'" if layer else ""
