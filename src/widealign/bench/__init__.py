"""Timings against backprop: every rule and mode, in turn with plain PyTorch in one process. Torch is imported late."""

from widealign.bench.cases import NETWORKS, Case, Choice, cases, contenders

__all__ = ["NETWORKS", "Case", "Choice", "cases", "contenders"]
