"""What a rule remembers: named tensors of the model as buffers of the learner."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


class Snapshot(nn.Module):
    """Tensors under the names they have in the model, kept as buffers: they move, are saved and load with the learner.

    A buffer's name cannot hold a dot, so `layers.0.weight` is kept as `layers/0/weight`; a slash becomes `%2F`.
    """

    def __init__(self, tensors: Mapping[str, Tensor] | None = None, *, grows: bool = False):
        super().__init__()
        self._grows = grows
        self.take(tensors or {})

    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Stores copies of `tensors`. New memory each time: a graph that still needs the old values keeps them."""
        for name, tensor in tensors.items():
            self._buffers[_key(name)] = tensor.detach().clone()  # any name may be a parameter's, also "values"

    def values(self) -> dict[str, Tensor]:
        """The tensors by their names in the model."""
        return {_name(key): tensor for key, tensor in self._buffers.items() if tensor is not None}

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Becomes what was saved: feedback that is drawn when its shape is first seen may be there or not."""
        saved = {key.removeprefix(prefix): tensor for key, tensor in state_dict.items() if key.startswith(prefix)}
        if self._grows:
            self._buffers.clear()
        for key, tensor in saved.items():
            if key not in self._buffers:
                self._buffers[key] = tensor.clone()
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def _key(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F").replace(".", "/")


def _name(key: str) -> str:
    return key.replace("/", ".").replace("%2F", "/").replace("%25", "%")
