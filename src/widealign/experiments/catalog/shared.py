"""Budgets and settings that several specs share.

Desk budgets suit two cores. On CIFAR-10 they take 450 images and the paper's 150 epochs: the runs of table 9, which are
done once for all.
"""

from collections.abc import Mapping
from typing import Any

from widealign.experiments.spec import Budget

CIFAR: dict[str, Any] = {"task": "cifar10", "epochs": 150, "threads": 1}
KMNIST: dict[str, Any] = {"task": "kmnist", "epochs": 100, "threads": 1}
FASHION: dict[str, Any] = {**KMNIST, "task": "fashion-mnist"}
FASHION_NOTE = (
    "Fashion-MNIST stands beside KMNIST: the same shape, and easier to get in full. The paper has no numbers for it."
)

SMOKE = Budget(caps={"epochs": 2, "data_limit": 150}, keeps={"width": (8, 16)}, lrs=(1.0, 2.0))
DESK_CIFAR = Budget(caps={"data_limit": 450}, keeps={"width": (8, 16, 32)})
DESK_KMNIST = Budget(caps={"epochs": 50, "data_limit": 450}, keeps={"width": (8, 16, 32)}, lrs=(1.0, 5.0))


def images_or_points(at: Mapping[str, Any]) -> float:
    """Two points, or two images of the evaluation set if that is more."""
    evaluated = min(at.get("data_limit") or 5000, 5000)
    return max(2.0, 200 / evaluated)
