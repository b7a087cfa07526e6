"""What the updates without autograd share: models whose sites are linear maps, each called once."""

from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import RefusedModel, UsageError
from widealign.fast.exactness import differences, obstacles
from widealign.fast.initial import InitialNetwork, Remembering, Values
from widealign.graph import Site
from widealign.nn import Linear

LINEAR = (nn.Linear.forward, Linear.forward)


def require_rule(what: str, rule: str, learner: Remembering) -> None:
    """Refuses learners of another rule."""
    if getattr(learner, "id", None) != rule:
        needed = "".join(part.capitalize() for part in rule.split("-"))
        raise UsageError(f"{what} takes an {needed} learner; it was given {type(learner).__name__}.")


def require_linear(what: str, sites: tuple[Site, ...]) -> None:
    """Refuses sites that are not linear maps, all at once."""
    found = [
        f"'{site.name}' ({type(site.module).__name__}) is not an nn.Linear or a widealign.nn.Linear: train it by "
        "learner(x) and an optimizer"
        for site in sites
        if type(site.module).forward not in LINEAR
    ]
    if found:
        raise RefusedModel(what, found)


def require_own_values(what: str, network: InitialNetwork, seen: Values, x: Tensor) -> None:
    """Refuses networks whose values for an example depend on others, and sites that are called more than once."""
    found = list(obstacles(network.model, network.statistics is not None))
    found = found or list(differences(network, (x,), {}, len(x)))
    for site, calls in seen.outputs.items():
        if len(calls) != 1 or calls[0].dim() != 2:
            shapes = [tuple(call.shape) for call in calls]
            found.append(
                f"'{site}' must be called once with (examples, features); its outputs have the shapes {shapes}"
            )
    if found:
        raise RefusedModel(what, found)


def scale(module: nn.Module) -> float:
    """The factor c of z = c W h + b."""
    return getattr(module, "forward_scale", 1.0)


class Output:
    """The output of the last forward pass, at which the error arrives."""

    def __init__(self) -> None:
        self.value: Tensor | None = None
        self.index = torch.empty(0, dtype=torch.int64)

    def give(self, value: Any, index: Tensor) -> Tensor:
        """Hands out `value` as a leaf that can hear a gradient."""
        if not isinstance(value, Tensor):
            raise UsageError(f"The model must return one tensor here; it returned {type(value).__name__}.")
        self.value, self.index = value.detach().requires_grad_(), index
        return self.value

    def error(self, step: str) -> Tensor:
        """∂L/∂f of the last forward pass; each error is given once."""
        if self.value is None or self.value.grad is None:
            raise UsageError(f"{step} needs the error: call it after loss.backward(), once for each forward pass.")
        error, self.value = self.value.grad.flatten(1), None
        return error
