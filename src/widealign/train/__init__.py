"""Training: the loop, the paper's and the sound protocol, checkpoints, logs. This package's one public door.

Names are imported when they are first used, so that the command's help does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# No module here may have the name of a function that is offered: importing it would put the module in its place.
if TYPE_CHECKING:
    from widealign.train.files import locked, read_json, write_atomically, write_json
    from widealign.train.finite import Breakdown, BrokeDown
    from widealign.train.interrupt import Interrupted
    from widealign.train.loop import EpochEnd, Loop, Steps
    from widealign.train.protocols import Prepared, prepare
    from widealign.train.resolving import resolve
    from widealign.train.runner import Options, run
    from widealign.train.stream import Stream
    from widealign.train.trial import Batch, Examples, Observer, Trial

_HOME = {
    "Batch": "trial",
    "Breakdown": "finite",
    "BrokeDown": "finite",
    "EpochEnd": "loop",
    "Examples": "trial",
    "Interrupted": "interrupt",
    "Loop": "loop",
    "Observer": "trial",
    "Options": "runner",
    "Prepared": "protocols",
    "Steps": "loop",
    "Stream": "stream",
    "Trial": "trial",
    "locked": "files",
    "prepare": "protocols",
    "read_json": "files",
    "resolve": "resolving",
    "run": "runner",
    "write_atomically": "files",
    "write_json": "files",
}

__all__ = [
    "Batch",
    "Breakdown",
    "BrokeDown",
    "EpochEnd",
    "Examples",
    "Interrupted",
    "Loop",
    "Observer",
    "Options",
    "Prepared",
    "Steps",
    "Stream",
    "Trial",
    "locked",
    "prepare",
    "read_json",
    "resolve",
    "run",
    "write_atomically",
    "write_json",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'widealign.train' has no attribute {name!r}")
    return getattr(import_module(f"widealign.train.{_HOME[name]}"), name)
