"""The empirical tangent kernel of any network: full, traced over outputs, or layer by layer, within a memory budget."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from widealign.errors import UsageError
from widealign.nn import BatchAxisNorm
from widealign.rules import model_of

Outputs = Literal["full", "trace"]


def ntk(
    model: nn.Module,
    x1: Tensor,
    x2: Tensor | None = None,
    *,
    outputs: Outputs = "full",
    parameters: Mapping[str, Tensor] | None = None,
    memory: int = 2**28,
) -> Tensor:
    """The tangent kernel Θ(x1, x2) = Σ_θ ∂f(x1)/∂θ (∂f(x2)/∂θ)^T.

    Args:
        model: A network (n, ...) -> (n, outputs). With statistics over the batch, examples are not independent: then
            x1 and x2 are each taken as one batch.
        x1: Inputs, any number.
        x2: Further inputs; x1 by default.
        outputs: `full` for (n1, n2, outputs, outputs), `trace` for its mean over equal outputs, (n1, n2).
        parameters: Where to take it, by name; the live parameters by default. Names that are missing do not take part.
        memory: Bytes that Jacobians may take at a time, as long as one example's Jacobian of one parameter fits.

    Example:
        >>> linear = nn.Linear(3, 2, bias=False)
        >>> x = torch.randn(4, 3)
        >>> torch.allclose(ntk(linear, x, outputs="trace"), x @ x.mT)  # for a linear map, the input's own kernel
        True
    """
    blocks = ntk_blocks(model, x1, x2, outputs=outputs, parameters=parameters, memory=memory)
    return torch.stack(list(blocks.values())).sum(0)


def ntk_blocks(
    model: nn.Module,
    x1: Tensor,
    x2: Tensor | None = None,
    *,
    outputs: Outputs = "full",
    parameters: Mapping[str, Tensor] | None = None,
    memory: int = 2**28,
) -> dict[str, Tensor]:
    """The tangent kernel's part from each parameter, by name; their sum is `ntk`. Arguments as there."""
    if memory < 1:
        raise UsageError(f"memory= is a number of bytes, 1 or more; it is {memory}.")
    if outputs not in get_args(Outputs):
        raise UsageError(f"outputs= is one of {', '.join(get_args(Outputs))}; it is {outputs!r}.")
    plain = model_of(model)
    known = {name for name, _ in plain.named_parameters()}
    if unknown := sorted(set(parameters or ()) - known):
        raise UsageError(f"parameters= names parameters of the model, {sorted(known)}; {unknown} are not among them.")
    chosen = (
        dict(parameters) if parameters is not None else {n: p for n, p in plain.named_parameters() if p.requires_grad}
    )
    if not chosen:
        raise UsageError("A tangent kernel is a sum over parameters: give at least one that learns.")
    _require_plain(plain, x1, chosen)
    blocks = {}
    for name in chosen:
        blocks[name] = _block(plain, name, chosen, x1, x2, outputs, memory)
    return blocks


def is_coupled(model: nn.Module) -> bool:
    """Whether an example's output depends on the others of its batch."""
    return any(
        isinstance(m, BatchAxisNorm) or (isinstance(m, _BatchNorm) and (m.training or m.running_mean is None))
        for m in model.modules()
    )


def _require_plain(model: nn.Module, x: Tensor, at: Mapping[str, Tensor]) -> None:
    """A kernel is that of a function (n, ...) -> (n, outputs), the same at every call."""
    drawing = [name for name, m in model.named_modules() if m.training and isinstance(m, _DropoutNd) and m.p > 0]
    if drawing:
        raise UsageError(
            f"A tangent kernel is that of one function, but {drawing} draw at random in training mode: call "
            "model.eval() first."
        )
    with torch.no_grad():
        shape = tuple(_call(model, at, x[:2] if is_coupled(model) else x[:1]).shape)
    if len(shape) != 2:
        raise UsageError(
            f"A tangent kernel needs a network (n, ...) -> (n, outputs); for one or two examples the output's shape is "
            f"{shape}. Flatten it, or give a network that does."
        )


def _call(model: nn.Module, at: Mapping[str, Tensor], batch: Tensor) -> Tensor:
    """The network at other parameters; its buffers are not touched."""
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    return functional_call(model, {**buffers, **at}, (batch,))


def _block(
    model: nn.Module, name: str, at: dict[str, Tensor], x1: Tensor, x2: Tensor | None, outputs: Outputs, memory: int
) -> Tensor:
    rows = []
    for left in _jacobians(model, name, at, x1, memory):
        same = x2 is None and len(left) == len(x1)
        others = [left] if same else _jacobians(model, name, at, x1 if x2 is None else x2, memory)
        rows.append(torch.cat([_product(left, right, outputs) for right in others], 1))
    return torch.cat(rows)


def _product(left: Tensor, right: Tensor, outputs: Outputs) -> Tensor:
    if outputs == "trace":
        return torch.einsum("iap,jap->ij", left, right) / left.shape[1]
    return torch.einsum("iap,jbp->ijab", left, right)


def _jacobians(model: nn.Module, name: str, at: dict[str, Tensor], x: Tensor, memory: int) -> Iterator[Tensor]:
    """∂f/∂θ_name as (examples, outputs, entries), in chunks."""
    others = {n: p.detach() for n, p in at.items() if n != name}
    theta = at[name].detach()

    def of_batch(value: Tensor, batch: Tensor) -> Tensor:
        return _call(model, {**others, name: value}, batch)

    def of_one(value: Tensor, one: Tensor) -> Tensor:
        return of_batch(value, one.unsqueeze(0)).squeeze(0)

    if is_coupled(model):
        yield jacrev(of_batch)(theta, x).flatten(2)
        return
    with torch.no_grad():
        count = of_batch(theta, x[:1]).shape[1]
    chunk = max(1, memory // (2 * count * theta.numel() * theta.element_size()))
    for part in x.split(chunk):
        yield vmap(jacrev(of_one), in_dims=(None, 0))(theta, part).flatten(2)


def kernel_drift(now: Tensor, then: Tensor) -> float:
    """‖Θ(t) - Θ(0)‖ / ‖Θ(0)‖ in Frobenius norm."""
    return ((now - then).norm() / then.norm()).item()


def track_kernel(model: nn.Module, x: Tensor, *, outputs: Outputs = "trace", **options: Any) -> "KernelDrift":
    """Remembers the kernel now; calling the result later gives its drift since."""
    return KernelDrift(model, x, outputs, options)


class KernelDrift:
    """The drift of a network's tangent kernel over training, on fixed inputs.

    Example:
        >>> model = nn.Linear(3, 1)
        >>> drift = track_kernel(model, torch.randn(5, 3))
        >>> nn.init.normal_(model.weight)  # doctest: +ELLIPSIS
        Parameter...
        >>> drift()  # a linear map's kernel never moves
        0.0
    """

    def __init__(self, model: nn.Module, x: Tensor, outputs: Outputs, options: dict[str, Any]):
        self._model, self._x, self._outputs, self._options = model, x, outputs, options
        self.initial = self._now()

    def __call__(self) -> float:
        """‖Θ(now) - Θ(then)‖ / ‖Θ(then)‖."""
        return kernel_drift(self._now(), self.initial)

    def _now(self) -> Tensor:
        return ntk(self._model, self._x, outputs=self._outputs, **self._options)
