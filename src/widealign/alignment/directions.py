"""The direction in which backpropagation would have gone, for passes that a rule has learned from."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from widealign.alignment.capture import Taught
from widealign.graph import replay, signals


def backprop_gradients(
    model: nn.Module, parameters: Mapping[str, Tensor], taught: Sequence[Taught]
) -> dict[str, Tensor]:
    """Backpropagation's gradient at the present weights, for the same inputs, dropout masks and output errors."""
    live = {name: p.detach().requires_grad_() for name, p in parameters.items()}
    total: dict[str, Tensor] = {}
    for given, errors in taught:
        with torch.enable_grad(), given.replayed:
            outputs = [o for o in signals(replay(model, live, given.args, given.kwargs)) if o.requires_grad]
        pairs = [(o, e.to(o)) for o, e in zip(outputs, errors, strict=True) if e is not None]
        gradients = torch.autograd.grad(
            [o for o, _ in pairs], list(live.values()), [e for _, e in pairs], allow_unused=True
        )
        for name, gradient in zip(live, gradients, strict=True):
            if gradient is not None:
                total[name] = total[name] + gradient if name in total else gradient
    return total
