"""Confidence intervals from a few seeds, by Student's t."""

from math import sqrt

from widealign.student import t_quantile


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
