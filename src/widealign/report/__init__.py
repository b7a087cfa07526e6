"""The report: results as tables and figures beside the paper's. It can neither start nor change a run."""

from widealign.report.filled import Block, blocks

__all__ = ["Block", "blocks"]
