"""Which inputs a layer's weights align with: Σ under a weighting q, and the q of gradient descent (equation 8).

Example indices are i, j; n examples; σ_i the layer's input for example i; J_i = ∂f_i/∂z_i its Jacobian,
outputs × units.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError


def sigma(activity: Tensor, q: Tensor) -> Tensor:
    """The weighted input correlation Σ = mean over i, j of q_ij σ_i σ_j^T.

    Args:
        activity: σ, of shape (n, fan-in).
        q: Any weighting, of shape (n, n).

    Example:
        >>> x = torch.randn(5, 3)
        >>> torch.allclose(sigma(x, 5 * torch.eye(5)), x.mT @ x / 5)  # q = n on the diagonal: the plain second moment
        True
    """
    n = len(activity)
    if q.shape != (n, n):
        raise UsageError(f"q= must be ({n}, {n}), one weight for each pair of examples; its shape is {tuple(q.shape)}.")
    return activity.mT @ q @ activity / n**2


def integrated_error(errors: Iterable[Tensor], rates: float | Iterable[float]) -> Tensor:
    """δ_i = ∫ e_i dt, which for gradient descent is the sum over steps of rate · error.

    Args:
        errors: e at each step, of shape (n, outputs): the derivative of *one example's* loss by its output. For a loss
            that is a mean over the batch that is n · ∂L/∂f.
        rates: The learning rate, or that of each step.
    """
    steps = list(errors)
    scales = [rates] * len(steps) if isinstance(rates, (int, float)) else list(rates)
    return torch.stack([rate * e for rate, e in zip(scales, steps, strict=True)]).sum(0)


def gamma(jacobian: Tensor) -> Tensor:
    """The kernel of backward signals Γ_ij = J_i J_j^T.

    Args:
        jacobian: J, of shape (n, outputs, units).

    Returns:
        Γ, of shape (n, n, outputs, outputs).
    """
    return torch.einsum("iau,jbu->ijab", jacobian, jacobian)


def q_descent(delta: Tensor, kernel: Tensor) -> Tensor:
    """The weighting of equation 8: q_ij = δ_i^T Γ_ij δ_j.

    With it, in NTK parameterization, `sigma(σ, q)` = m ΔW*^T ΔW* exactly, m the fan-in and ΔW* the companion's change
    under full-batch gradient descent.

    Args:
        delta: δ, of shape (n, outputs).
        kernel: Γ, of shape (n, n, outputs, outputs).
    """
    return torch.einsum("ia,ijab,jb->ij", delta, kernel, delta)


def layer_facts(model: nn.Module, layer: str, x: Tensor) -> tuple[Tensor, Tensor]:
    """A layer's input σ_i and output Jacobian J_i for each example of a batch, at the model's present weights.

    Args:
        model: A network that maps (n, ...) to (n, outputs), each example by itself (no batch statistics).
        layer: Name of a linear module, called once.
        x: The batch.

    Returns:
        σ of shape (n, fan-in) and J of shape (n, outputs, units).
    """
    seen: dict[str, Tensor] = {}

    def keep(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        seen["activity"], seen["z"] = args[0].detach(), output.detach().requires_grad_()
        return seen["z"]

    handle = model.get_submodule(layer).register_forward_hook(keep)
    try:
        with torch.enable_grad():
            output = model(x)
    finally:
        handle.remove()
    z = seen["z"]
    rows = [torch.autograd.grad(output[:, a].sum(), z, retain_graph=True)[0] for a in range(output.shape[1])]
    return seen["activity"].flatten(1), torch.stack(rows, 1).flatten(2)
