"""Labelled places on a logarithmic axis."""

from collections.abc import Iterable
from math import ceil, floor, log10

_MOST = 9


def log_ticks(values: Iterable[float]) -> tuple[float, ...]:
    """1, 2 and 5 of every decade that the values span, or whole decades only where those would be too many.

    Example:
        >>> log_ticks([0.3, 7.0])
        (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
        >>> log_ticks([1e-6, 1.0])
        (1e-06, 1e-05, 0.0001, 0.001, 0.01, 0.1, 1.0)
    """
    positive = [value for value in values if value > 0]
    if not positive:
        return ()
    low, high = floor(log10(min(positive))), ceil(log10(max(positive)))
    fine = [float(f"{digit}e{decade}") for decade in range(low, high + 1) for digit in (1, 2, 5)]
    below = [tick for tick in fine if tick <= min(positive)][-1:]
    above = [tick for tick in fine if tick >= max(positive)][:1]
    kept = tuple(tick for tick in fine if below[0] <= tick <= above[0])
    return kept if len(kept) <= _MOST else tuple(float(f"1e{decade}") for decade in range(low, high + 1))
