"""The slow exact reference: every rule as explicit matrices, and the check of a user's own learner against it."""

from widealign.oracle.dense import dense_gradients
from widealign.oracle.findings import Locality, Report
from widealign.oracle.proof import check

__all__ = ["Locality", "Report", "check", "dense_gradients"]
