"""A random stream that belongs to one run, and whose state can be written down as plain values."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


class Stream:
    """NumPy's legacy generator, the one that the authors' scripts use, as an object instead of a global.

    Example:
        >>> stream = Stream(99)
        >>> saved = stream.state_dict()
        >>> first = stream.permutation(5)
        >>> stream.load_state_dict(saved)
        >>> torch.equal(stream.permutation(5), first)
        True
    """

    def __init__(self, seed: int):
        self._random = np.random.RandomState(seed)

    def permutation(self, n: int) -> Tensor:
        """A random order of 0 ... n-1, as int64."""
        return torch.from_numpy(self._random.permutation(n).astype(np.int64))

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Gaussian numbers of mean 0, in float64."""
        return self._random.normal(scale=scale, size=shape)

    def state_dict(self) -> dict[str, Any]:
        """Tensors and numbers only: what `torch.load(weights_only=True)` accepts."""
        state: Any = self._random.get_state(legacy=False)
        return {
            "keys": torch.from_numpy(state["state"]["key"].astype(np.int64)),
            "position": int(state["state"]["pos"]),
            "has_gauss": int(state["has_gauss"]),
            "cached": float(state["gauss"]),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken."""
        keys = state["keys"].numpy().astype(np.uint32)
        self._random.set_state(("MT19937", keys, state["position"], state["has_gauss"], state["cached"]))
