"""The largest absolute eigenvalue of a symmetric matrix that is known only by what it does to vectors."""

from collections.abc import Callable

import torch
from torch import Tensor


def symmetric_norm(apply: Callable[[Tensor], Tensor], seeds: int, size: int, *, steps: int = 40) -> Tensor:
    """‖M‖ in operator norm for a batch of symmetric matrices M, by Lanczos iteration with full reorthogonalization.

    Args:
        apply: v -> M v on (seeds, size).
        seeds: Number of matrices.
        size: Rows of each.
        steps: Size of the Krylov space; exact once it reaches the rank of M.

    Returns:
        (seeds,)

    Example:
        >>> diagonal = torch.tensor([[1.0, -5.0, 2.0]], dtype=torch.float64)
        >>> round(symmetric_norm(lambda v: diagonal * v, 1, 3).item(), 6)
        5.0
    """
    steps = min(steps, size)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(seeds, size, generator=generator, dtype=torch.float64)
    basis = [start / start.norm(dim=-1, keepdim=True)]
    images: list[Tensor] = []
    for _ in range(steps):
        image = apply(basis[-1])
        images.append(image)
        if len(images) == steps:
            break
        rest = image
        for _ in range(2):  # once is not enough in finite precision
            space = torch.stack(basis, 1)
            rest = rest - (space.mT @ (space @ rest.unsqueeze(-1))).squeeze(-1)
        norm = rest.norm(dim=-1, keepdim=True)
        new = norm > 1e-10 * image.norm(dim=-1, keepdim=True)  # below it, only rounding is left: the space is complete
        basis.append(torch.where(new, rest / norm.where(new, torch.ones_like(norm)), torch.zeros_like(rest)))
    space, mapped = torch.stack(basis, 1), torch.stack(images, 1)
    projected = space @ mapped.mT
    return torch.linalg.eigvalsh((projected + projected.mT) / 2).abs().amax(-1)
