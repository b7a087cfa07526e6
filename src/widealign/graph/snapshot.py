"""What a rule remembers: named tensors of the model as buffers of the learner."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


class Snapshot(nn.Module):
    """Tensors under the names they have in the model, kept as buffers: they move, are saved and load with the learner.

    A buffer's name cannot hold a dot, so `layers.0.weight` is kept as `layers/0/weight`.
    """

    def __init__(self, tensors: Mapping[str, Tensor] | None = None):
        super().__init__()
        self.take(tensors or {})

    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Stores copies of `tensors`. New memory each time: a graph that still needs the old values keeps them."""
        for name, tensor in tensors.items():
            self.register_buffer(name.replace(".", "/"), tensor.detach().clone())

    def values(self) -> dict[str, Tensor]:
        """The tensors by their names in the model."""
        return {name.replace("/", "."): tensor for name, tensor in self._buffers.items() if tensor is not None}

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Takes also what this snapshot does not hold yet: feedback that is drawn when its shape is first seen."""
        for key, tensor in state_dict.items():
            if key.startswith(prefix) and key.removeprefix(prefix) not in self._buffers:
                self.register_buffer(key.removeprefix(prefix), tensor.clone())
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
