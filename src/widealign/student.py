"""Student's t: how far a mean of few measurements may lie from the truth."""

from math import atan, cos, exp, lgamma, pi, sqrt
from statistics import NormalDist

_PANELS = 200  # of Simpson's rule; an error below 1e-10 for every freedom of one or more


def t_quantile(freedom: float, share: float = 0.95) -> float:
    """Two-sided quantile of Student's t: the t with P(|T| < t) = share, by bisection.

    Args:
        freedom: Degrees of freedom, at least 1; Welch's need not be whole.
        share: The probability between −t and t.

    Example:
        >>> round(t_quantile(10), 4), round(t_quantile(1), 3)
        (2.2281, 12.706)
    """
    low, high = 0.0, 2.0 * NormalDist().inv_cdf(0.5 + share / 2)
    while _central(high, freedom) < share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _central(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _central(t: float, freedom: float) -> float:
    """P(|T| < t) = 2 Γ((ν+1)/2) / (√π Γ(ν/2)) ∫ cos^(ν−1) θ dθ, from 0 to atan(t/√ν)."""
    factor = 2 * exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi)
    step = atan(t / sqrt(freedom)) / _PANELS
    weights = [1, *(4 if k % 2 else 2 for k in range(1, _PANELS)), 1]
    return factor * step / 3 * sum(w * cos(k * step) ** (freedom - 1) for k, w in enumerate(weights))
