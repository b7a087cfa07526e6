"""Whether weights align with their inputs, and how far a network is from the wide regime.

Names are imported when they are first used, so that the command's help does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# No module here may have the name of a function that is offered: importing it would put the module in its place.
if TYPE_CHECKING:
    from widealign.alignment.companion import Companion
    from widealign.alignment.drifting import Drift, drift
    from widealign.alignment.monitor import AlignmentMonitor
    from widealign.alignment.observer import AlignmentObserver
    from widealign.alignment.on_images import Images, score_images
    from widealign.alignment.permuted import Baseline, score_permuted
    from widealign.alignment.probes import Estimate, score_probe
    from widealign.alignment.regimes import Regime, regime
    from widealign.alignment.scores import as_matrix, score, score_sketched
    from widealign.alignment.weightings import gamma, integrated_error, layer_facts, q_descent, sigma

_HOME = {
    "AlignmentMonitor": "monitor",
    "AlignmentObserver": "observer",
    "Baseline": "permuted",
    "Companion": "companion",
    "Drift": "drifting",
    "Estimate": "probes",
    "Images": "on_images",
    "Regime": "regimes",
    "as_matrix": "scores",
    "drift": "drifting",
    "gamma": "weightings",
    "integrated_error": "weightings",
    "layer_facts": "weightings",
    "q_descent": "weightings",
    "regime": "regimes",
    "score": "scores",
    "score_images": "on_images",
    "score_permuted": "permuted",
    "score_probe": "probes",
    "score_sketched": "scores",
    "sigma": "weightings",
}

__all__ = [
    "AlignmentMonitor",
    "AlignmentObserver",
    "Baseline",
    "Companion",
    "Drift",
    "Estimate",
    "Images",
    "Regime",
    "as_matrix",
    "drift",
    "gamma",
    "integrated_error",
    "layer_facts",
    "q_descent",
    "regime",
    "score",
    "score_images",
    "score_permuted",
    "score_probe",
    "score_sketched",
    "sigma",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'widealign.alignment' has no attribute {name!r}")
    return getattr(import_module(f"widealign.alignment.{_HOME[name]}"), name)
