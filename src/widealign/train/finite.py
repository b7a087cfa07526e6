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
        layer: the module where it began; None when no module can be told from the rest.
    """

    step: int
    epoch: int
    what: Literal["loss", "gradient", "evaluation loss"]
    layer: str | None = None


class BrokeDown(Diverged):
    """Raised by the loop. `losses` are those not handed out yet, the last that of the step that broke down."""

    def __init__(self, breakdown: Breakdown, losses: tuple[float, ...] = ()):
        self.breakdown, self.losses = breakdown, losses
        where = f" in layer {breakdown.layer}" if breakdown.layer else ""
        super().__init__(
            f"the {breakdown.what} is not finite at step {breakdown.step} (epoch {breakdown.epoch}){where}"
        )


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


def first_broken_layer(model: nn.Module, inputs: Tensor) -> str | None:
    """The first module whose output on `inputs` is not finite, else the first with weights that are not finite.

    The first to finish counts: of a module and the one that contains it, the inner one. None if all is finite, as when
    only the loss itself overflows.
    """
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return name.rpartition(".")[0]
    broken: list[str] = []

    def look(name: str, output: object) -> None:
        if isinstance(output, Tensor) and not output.isfinite().all():
            broken.append(name)

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
    return broken[0] if broken else None
