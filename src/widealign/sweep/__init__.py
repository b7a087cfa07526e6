"""Sweeps: which runs are missing, running them, and the store that keeps them. Torch is imported in workers only."""

from widealign.sweep.record import Record
from widealign.sweep.store import Contents, Store
from widealign.sweep.words import console, duration, label

__all__ = ["Contents", "Record", "Store", "console", "duration", "label"]
