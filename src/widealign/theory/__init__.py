"""The wide limit, measured: width rates of the paper's propositions, tangent kernels, linearized networks."""

from widealign.theory.fit import Fit, fit_slope
from widealign.theory.limit import run_theory_3
from widealign.theory.linearized import LinearizedNetwork, Prediction, kernel_regression, linearize, wide_limit
from widealign.theory.ntk import KernelDrift, kernel_drift, ntk, ntk_blocks, track_kernel
from widealign.theory.over_width import PLANS, Plan
from widealign.theory.remark import run_remark
from widealign.theory.width_rates import run_theory_1, run_theory_2

__all__ = [
    "PLANS",
    "Fit",
    "KernelDrift",
    "LinearizedNetwork",
    "Plan",
    "Prediction",
    "fit_slope",
    "kernel_drift",
    "kernel_regression",
    "linearize",
    "ntk",
    "ntk_blocks",
    "run_remark",
    "run_theory_1",
    "run_theory_2",
    "run_theory_3",
    "track_kernel",
    "wide_limit",
]
