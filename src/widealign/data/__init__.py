"""Data sets: readers with checks, splits of both protocols, batches. This package's one public door.

Names are imported when they are first used, so that the commands' help does not import torch. No module here may have
the name of a function that this package offers: importing it would put the module in the function's place.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widealign.data.add import AddTask, add_task
    from widealign.data.catalogue import TASKS
    from widealign.data.checksum import UnverifiedDataWarning
    from widealign.data.crops import CHANNEL_MEAN, CHANNEL_STD
    from widealign.data.dataset import Dataset, load
    from widealign.data.folders import ImageFolder, ImageList, image_folder
    from widealign.data.images import EvaluationImages, TrainImages, image_batches
    from widealign.data.memory import InMemory
    from widealign.data.splits import Split, paper_batch_size, split

_HOME = {
    "AddTask": "add",
    "CHANNEL_MEAN": "crops",
    "CHANNEL_STD": "crops",
    "Dataset": "dataset",
    "EvaluationImages": "images",
    "ImageFolder": "folders",
    "ImageList": "folders",
    "InMemory": "memory",
    "Split": "splits",
    "TASKS": "catalogue",
    "TrainImages": "images",
    "UnverifiedDataWarning": "checksum",
    "add_task": "add",
    "image_batches": "images",
    "image_folder": "folders",
    "load": "dataset",
    "paper_batch_size": "splits",
    "split": "splits",
}

__all__ = [
    "CHANNEL_MEAN",
    "CHANNEL_STD",
    "TASKS",
    "AddTask",
    "Dataset",
    "EvaluationImages",
    "ImageFolder",
    "ImageList",
    "InMemory",
    "Split",
    "TrainImages",
    "UnverifiedDataWarning",
    "add_task",
    "image_batches",
    "image_folder",
    "load",
    "paper_batch_size",
    "split",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'widealign.data' has no attribute {name!r}")
    return getattr(import_module(f"widealign.data.{_HOME[name]}"), name)
