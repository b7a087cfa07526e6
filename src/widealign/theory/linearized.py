"""The linearized network, trained exactly in function space, and what kernel regression predicts for wide networks."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.graph import replay
from widealign.rules import model_of
from widealign.theory.ntk import ntk


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Outputs (examples, outputs) on the training inputs and on others."""

    train: Tensor
    test: Tensor


class LinearizedNetwork:
    """f_lin(x; θ) = f(x; θ0) + ∂f/∂θ (θ - θ0), trained on the mean squared error without ever touching θ.

        d/dt f_lin(x) = -Θ(x, X) e,    e = 2 (f_lin(X) - Y) / (n · outputs)

    Args:
        kernel: Θ(X, X): (n, n) where outputs do not mix (a trace, or the infinite-width kernel), or
            (n, n, outputs, outputs).
        kernel_test: Θ(x, X) of the other inputs, of the same kind: (k, n) or (k, n, outputs, outputs).
        targets: Y, (n, outputs).
        start: f(X; θ0); zero by default.
        start_test: f(x; θ0); zero by default.

    Example:
        >>> x, y = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 1, dtype=torch.float64)
        >>> net = LinearizedNetwork(x @ x.mT, x @ x.mT, y)
        >>> torch.allclose(net.limit().train, y)
        True
    """

    def __init__(
        self,
        kernel: Tensor,
        kernel_test: Tensor,
        targets: Tensor,
        start: Tensor | None = None,
        start_test: Tensor | None = None,
    ):
        n, self._outputs = targets.shape
        if kernel.shape[:2] != (n, n) or kernel_test.shape[1] != n or kernel.ndim != kernel_test.ndim:
            raise UsageError(
                f"With {n} targets the kernels must be ({n}, {n}) and (k, {n}), both with or both without output "
                f"axes; they are {tuple(kernel.shape)} and {tuple(kernel_test.shape)}."
            )
        self._mixed = kernel.ndim == 4
        self._targets = targets.to(kernel)
        self._start = torch.zeros_like(self._targets) if start is None else start.to(kernel)
        zeros = kernel.new_zeros(len(kernel_test), self._outputs)
        self._start_test = zeros if start_test is None else start_test.to(kernel)
        self._kernel, self._kernel_test = self._matrix(kernel), self._matrix(kernel_test)
        self._values, self._vectors = torch.linalg.eigh((self._kernel + self._kernel.mT) / 2)

    def after(self, time: float) -> Prediction:
        """Gradient flow for this long: the error of each kernel eigenvector decays as exp(-2 λ t / (n · outputs))."""
        if time == math.inf:
            return self.limit()
        rates = 2 * self._values.clamp_min(0) / self._targets.numel()
        return self._moved(-torch.expm1(-rates * time) / rates.clamp_min(torch.finfo(rates.dtype).tiny), time)

    def steps(self, rate: float, count: int) -> Prediction:
        """Gradient descent: `count` steps at this rate, in closed form."""
        shrinks = rate * 2 * self._values.clamp_min(0) / self._targets.numel()
        grown = torch.where(shrinks < 1, -torch.expm1(count * torch.log1p(-shrinks)), 1 - (1 - shrinks) ** count)
        sums = torch.where(shrinks > 0, grown / shrinks, torch.full_like(shrinks, count))
        return self._moved(rate * sums, rate * count)

    def limit(self, ridge: float = 0.0) -> Prediction:
        """Training for ever: kernel (ridge) regression from the initial function."""
        error = self._flat(self._start - self._targets)
        cutoff = len(self._values) * torch.finfo(self._values.dtype).eps * self._values.abs().max()
        kept = self._values > cutoff if ridge == 0 else torch.ones_like(self._values, dtype=torch.bool)
        inverse = torch.where(kept, 1 / (self._values + ridge).where(kept, torch.ones_like(self._values)), 0.0)
        return self._plus(self._vectors @ (inverse.unsqueeze(-1) * (self._vectors.mT @ error)))

    def descend(self, loss: Callable[[Tensor, Tensor], Tensor], rate: float, count: int) -> Prediction:
        """Gradient descent on any loss, step by step in function space."""
        train, test = self._flat(self._start), self._flat(self._start_test)
        for _ in range(count):
            output = self._unflat(train).detach().requires_grad_()
            with torch.enable_grad():
                (error,) = torch.autograd.grad(loss(output, self._targets), output)
            train = train - rate * self._kernel @ self._flat(error)
            test = test - rate * self._kernel_test @ self._flat(error)
        return Prediction(train=self._unflat(train), test=self._unflat(test))

    def _moved(self, weight: Tensor, time: float) -> Prediction:
        """From the integral over time of each eigenvector's error, in units of its initial error."""
        weight = torch.where(self._values > 0, weight, torch.full_like(weight, time))
        error = 2 * self._flat(self._start - self._targets) / self._targets.numel()
        return self._plus(self._vectors @ (weight.unsqueeze(-1) * (self._vectors.mT @ error)))

    def _plus(self, integrated: Tensor) -> Prediction:
        train = self._flat(self._start) - self._kernel @ integrated
        test = self._flat(self._start_test) - self._kernel_test @ integrated
        return Prediction(train=self._unflat(train), test=self._unflat(test))

    def _matrix(self, kernel: Tensor) -> Tensor:
        if not self._mixed:
            return kernel
        rows, columns = kernel.shape[0] * self._outputs, kernel.shape[1] * self._outputs
        return kernel.permute(0, 2, 1, 3).reshape(rows, columns)

    def _flat(self, outputs: Tensor) -> Tensor:
        return outputs.reshape(-1, 1) if self._mixed else outputs

    def _unflat(self, outputs: Tensor) -> Tensor:
        return outputs.reshape(-1, self._outputs)


def linearize(model: nn.Module, x: Tensor, targets: Tensor, x_test: Tensor, *, full: bool = True) -> LinearizedNetwork:
    """The linearization of a network at its present parameters, ready to be trained in function space.

    Args:
        model: A network (n, ...) -> (n, outputs).
        x: Training inputs.
        targets: Their targets, (n, outputs).
        x_test: Other inputs.
        full: The exact kernel over outputs; otherwise its trace, as in the wide limit, which is outputs² times smaller.
    """
    kind = "full" if full else "trace"
    with torch.no_grad():
        start, start_test = (replay(model_of(model), {}, (inputs,), {}) for inputs in (x, x_test))
    if start.shape != targets.shape:
        raise UsageError(f"targets= must have the shape of the network's output, {tuple(start.shape)}; it has "
                         f"{tuple(targets.shape)}.")  # fmt: skip
    kernel, kernel_test = ntk(model, x, outputs=kind), ntk(model, x_test, x, outputs=kind)
    return LinearizedNetwork(kernel, kernel_test, targets, start, start_test)


def kernel_regression(kernel: Tensor, kernel_test: Tensor, targets: Tensor, *, ridge: float = 0.0) -> Tensor:
    """Predictions Θ(x, X) (Θ(X, X) + ridge)^-1 Y: where an infinitely wide network of zero initial output ends."""
    return LinearizedNetwork(kernel, kernel_test, targets).limit(ridge).test


def wide_limit(model: nn.Module, x: Tensor, targets: Tensor, x_test: Tensor, *, ridge: float = 0.0) -> Tensor:
    """The prediction of kernel regression with a wide network's own kernel: the dashed line of the width figures.

    The traced kernel of one wide network stands for the infinite-width kernel, from which it differs by 1/sqrt(width).
    """
    kernel, kernel_test = ntk(model, x, outputs="trace"), ntk(model, x_test, x, outputs="trace")
    return kernel_regression(kernel, kernel_test, targets, ridge=ridge)
