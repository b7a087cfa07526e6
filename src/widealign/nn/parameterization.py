"""How large weights are drawn, and how they are scaled in use."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Parameterization:
    """z = c W h + b with W ~ N(0, s²): `initial_scale` gives s, `forward_scale` gives c, both for a fan-in."""

    name: str
    initial_power: float
    forward_power: float

    def initial_scale(self, fan_in: int) -> float:
        """The standard deviation s of the initial weights."""
        return math.pow(fan_in, self.initial_power)

    def forward_scale(self, fan_in: int) -> float:
        """The factor c in the forward pass."""
        return math.pow(fan_in, self.forward_power)


NTK = Parameterization(name="ntk", initial_power=0.0, forward_power=-0.5)
STANDARD = Parameterization(name="standard", initial_power=-0.5, forward_power=0.0)

_BY_NAME = {p.name: p for p in (NTK, STANDARD)}


def parameterization(which: str | Parameterization) -> Parameterization:
    """A parameterization by name, `ntk` or `standard`."""
    if isinstance(which, Parameterization):
        return which
    if which not in _BY_NAME:
        raise ValueError(f"parameterization is one of {sorted(_BY_NAME)}; it is {which!r}.")
    return _BY_NAME[which]
