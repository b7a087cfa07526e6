"""The exponent of a power law from measurements, with its confidence interval."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from widealign.student import t_quantile


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
