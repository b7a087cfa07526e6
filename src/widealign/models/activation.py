"""Activations by name."""

from torch import nn

_BY_NAME: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "linear": nn.Identity}


def activation(name: str) -> nn.Module:
    """`relu`, `tanh`, or `linear` for none."""
    if name not in _BY_NAME:
        raise ValueError(f"activation is one of {sorted(_BY_NAME)}; it is {name!r}.")
    return _BY_NAME[name]()
