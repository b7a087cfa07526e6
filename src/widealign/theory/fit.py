"""The exponent of a power law from measurements, with its confidence interval."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist, fmean
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A fitted exponent.

    Attributes:
        slope: b of value = a · width^b.
        interval: Its 95 % confidence interval.
        points: Number of measurements.
    """

    slope: float
    interval: tuple[float, float]
    points: int

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "interval": list(self.interval)}


def fit_slope(widths: Sequence[float], *series: Sequence[Sequence[float]]) -> Fit:
    """Least squares of log value = log a_s + b log width: one exponent b, an own factor a_s for each series.

    Args:
        widths: The widths.
        series: Values by width and seed, positive.

    Example:
        >>> fit = fit_slope([10, 100, 1000], [[5.0, 5.2], [0.5, 0.52], [0.05, 0.052]])
        >>> round(fit.slope, 6)
        -1.0
    """
    xs, ys = [], []
    for rows in series:
        points = [(math.log(w), math.log(v)) for w, row in zip(widths, rows, strict=True) for v in row]
        mean_x, mean_y = fmean(x for x, _ in points), fmean(y for _, y in points)
        xs += [x - mean_x for x, _ in points]
        ys += [y - mean_y for _, y in points]
    square = sum(x * x for x in xs)
    slope = sum(x * y for x, y in zip(xs, ys, strict=True)) / square
    freedom = len(xs) - len(series) - 1
    if freedom < 1:
        raise ValueError(f"A slope with an interval needs at least three points a series; {len(xs)} were given.")
    residual = sum((y - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    half = t_quantile(freedom) * math.sqrt(residual / freedom / square)
    return Fit(slope=slope, interval=(slope - half, slope + half), points=len(xs))


def t_quantile(freedom: int, share: float = 0.95) -> float:
    """Two-sided quantile of Student's t: bisection on the distribution function.

    Example:
        >>> round(t_quantile(10), 4), round(t_quantile(1), 3)
        (2.2281, 12.706)
    """
    low, high = 0.0, 2.0 * NormalDist().inv_cdf(0.5 + share / 2)
    while _central(high, freedom) < share:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _central(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _central(t: float, freedom: int) -> float:
    """P(|T| < t), by the finite sums for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, term, total = math.cos(angle), 1.0, 0.0
    for k in range(1, freedom // 2 + 1) if freedom % 2 == 0 else range(1, (freedom - 1) // 2 + 1):
        total += term
        step = (2 * k - 1) / (2 * k) if freedom % 2 == 0 else 2 * k / (2 * k + 1)
        term *= step * cosine**2
    if freedom % 2 == 0:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + math.sin(angle) * cosine * total)
