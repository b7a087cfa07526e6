"""Peak memory of a contender: the highest sum of what PyTorch's allocator held for it, from its model on.

The profiler reports every allocation, also those inside of compiled code and of kernels. What libraries take by
themselves, and Python, is not counted; nor would it be the contender's.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile

Made = TypeVar("Made")


def with_peak(make: Callable[[], Made], device: torch.device) -> tuple[Made, float]:
    """What `make` gives, and the most bytes that were allocated meanwhile."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        return make(), torch.cuda.max_memory_allocated(device) - before
    with _no_announcements(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        made = make()
    recorded: Any = watched.profiler.kineto_results if watched.profiler else None
    events = [event for event in recorded.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return made, max(accumulate(event.nbytes() for event in events), default=0)


@contextmanager
def _no_announcements() -> Iterator[None]:
    """The profiler writes to the standard error that it begins and ends, and knows no way to be quiet."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
