"""Fast paths: feedback of the initial network that is kept, updates in place, Align-zero as a sum over examples."""

from widealign.fast.cache import Choice, FeedbackCache, Mode, Statistics
from widealign.fast.dual import DualAlignZero
from widealign.fast.in_place import InPlaceAlignAda
from widealign.fast.initial import InitialNetwork
from widealign.fast.memory import keep_freed_memory
from widealign.fast.statistics import FrozenStatistics

__all__ = [
    "Choice",
    "DualAlignZero",
    "FeedbackCache",
    "FrozenStatistics",
    "InPlaceAlignAda",
    "InitialNetwork",
    "Mode",
    "Statistics",
    "keep_freed_memory",
]
