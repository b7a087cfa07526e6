"""Noticing a loss or a gradient that is not finite, and saying where it began."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from widealign.errors import Diverged


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """Where training broke down.

    Attributes:
        step: counted from 1 over the whole run.
        epoch: counted from 1.
        what: which number was not finite.
        layer: the module where it began.
    """

    step: int
    epoch: int
    what: Literal["loss", "gradient", "evaluation loss"]
    layer: str


class BrokeDown(Diverged):
    """Raised by the loop. `losses` are those not handed out yet, the last that of the step that broke down."""

    def __init__(self, breakdown: Breakdown, losses: tuple[float, ...] = ()):
        self.breakdown, self.losses = breakdown, losses
        at = f"step {breakdown.step} (epoch {breakdown.epoch})"
        super().__init__(f"the {breakdown.what} is not finite at {at} in layer {breakdown.layer}")


class Watch:
    """Keeps the loss and each parameter's largest gradient of the last steps on the device, until `drain`.

    On a GPU reading a number waits for all work before it, so several steps are looked at together; each has its own
    numbers, so the step that is named is the one that broke down.
    """

    def __init__(self, model: nn.Module):
        self.model = model
        self._learning = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._pending: list[tuple[Tensor, Tensor, list[str]]] = []

    def __len__(self) -> int:
        return len(self._pending)

    def note(self, loss: Tensor) -> None:
        """Remember a step, after its backward pass."""
        gradients = [(name, p.grad) for name, p in self._learning if p.grad is not None]
        # The largest entry, not the Euclidean norm: that one overflows before the gradient does.
        largest = [torch.linalg.vector_norm(gradient, math.inf) for _, gradient in gradients]
        self._pending.append((loss.detach(), torch.stack(largest), [name for name, _ in gradients]))

    def drain(self, inputs: Tensor, *, step: int, epoch: int) -> list[float]:
        """The losses since the last call; the newest is that of `step`, whose inputs are `inputs`.

        Raises:
            BrokeDown: one of them, or a gradient, is not finite.
        """
        pending, self._pending = self._pending, []
        losses = [float(loss) for loss, _, _ in pending]
        for index, (loss, (_, largest, names)) in enumerate(zip(losses, pending, strict=True)):
            finite = largest.isfinite()
            if math.isfinite(loss) and bool(finite.all()):
                continue
            if math.isfinite(loss):
                what, layer = "gradient", names[finite.tolist().index(False)].rpartition(".")[0]
            else:
                what, layer = "loss", first_broken_layer(self.model, inputs)
            at = step - len(pending) + index + 1
            raise BrokeDown(Breakdown(step=at, epoch=epoch, what=what, layer=layer), tuple(losses[: index + 1]))
        return losses


def layer_of_largest_weight(model: nn.Module) -> str:
    """The layer with a weight that is not finite, else with the largest one: where to look if evaluation fails."""
    sizes = {name: float(torch.linalg.vector_norm(p.detach(), math.inf)) for name, p in model.named_parameters()}
    return max(sizes, key=lambda name: sizes[name] if math.isfinite(sizes[name]) else math.inf).rpartition(".")[0]


def first_broken_layer(model: nn.Module, inputs: Tensor) -> str:
    """The first module whose output on `inputs` is not finite; of one and another that contains it, the inner one.

    If the weights are damaged already, their layer; if all outputs are finite and only the loss overflows, the layer
    with the largest output.
    """
    if not all(bool(parameter.isfinite().all()) for parameter in model.parameters()):
        return layer_of_largest_weight(model)
    broken: list[str] = []
    largest: dict[str, float] = {}

    def look(name: str, output: object) -> None:
        if isinstance(output, Tensor):
            size = float(torch.linalg.vector_norm(output.float(), math.inf))
            if not math.isfinite(size):
                broken.append(name)  # in the order of the calls: one module may be called in several places
            elif next(model.get_submodule(name).parameters(), None) is not None:
                largest[name] = max(size, largest.get(name, 0.0))

    handles = [
        module.register_forward_hook(lambda module, args, output, name=name: look(name, output))
        for name, module in model.named_modules()
        if name
    ]
    try:
        with torch.no_grad():
            model(inputs)
    finally:
        for handle in handles:
            handle.remove()
    return broken[0] if broken else max(largest, key=lambda name: largest[name])
