"""Confidence intervals from a few seeds, by Student's t."""

from math import sqrt

_Z = 1.959964


def t_quantile(freedom: float) -> float:
    """Two-sided 95 % quantile of Student's t, by the Cornish-Fisher expansion in 1/freedom.

    Example:
        >>> round(t_quantile(8), 2)
        2.31
    """
    z = _Z
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def half_interval(spread: float | None, seeds: int) -> float | None:
    """Half the 95 % interval of a mean over seeds; None with a single seed."""
    if spread is None or seeds < 2:
        return None
    return t_quantile(seeds - 1) * spread / sqrt(seeds)


def difference_interval(a: tuple[float | None, int], b: tuple[float | None, int]) -> float | None:
    """Half the 95 % interval of the difference of two means, each given as (spread, seeds) (Welch's freedom)."""
    if a[0] is None or b[0] is None:
        return None
    errors = [spread**2 / seeds for spread, seeds in ((a[0], a[1]), (b[0], b[1]))]
    total = sum(errors)
    if total == 0:
        return 0.0
    freedom = total**2 / sum(error**2 / (seeds - 1) for error, (_, seeds) in zip(errors, (a, b), strict=True))
    return t_quantile(freedom) * sqrt(total)
