"""Train neural networks without backpropagation: the one public door. Importing it does not import torch."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_RULES = ("Normal", "LastLayer", "FA", "DFA", "AlignZero", "AlignAda", "AlignProp", "USF", "BRSF", "FRSF")
_HOME = {
    **dict.fromkeys(_RULES, "widealign.rules"),
    "explain": "widealign.rules",
    "check": "widealign.oracle",
    "mse": "widealign.losses",
    "AlignmentMonitor": "widealign.alignment",
    "regime": "widealign.alignment",
}
_PACKAGES = ("graph", "rules", "nn", "models", "oracle", "losses", "alignment", "theory", "data", "train")

__all__ = [*_HOME, *_PACKAGES]  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return import_module(f"widealign.{name}")
    raise AttributeError(f"module 'widealign' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
