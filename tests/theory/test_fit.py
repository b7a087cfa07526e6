"""The fitted exponent and its interval."""

import math
import random

import pytest
import torch

from widealign.theory import fit_slope
from widealign.theory.operator_norm import symmetric_norm


@pytest.mark.quick
def test_the_interval_holds_the_true_exponent_in_95_of_100_cases() -> None:
    noise, widths, hits = random.Random(0), [64, 128, 256, 512, 1024], 0
    for _ in range(400):
        rows = [[3 * w**-0.5 * math.exp(0.3 * noise.gauss(0, 1)) for _ in range(3)] for w in widths]
        low, high = fit_slope(widths, rows).interval
        hits += low <= -0.5 <= high
    assert 0.92 < hits / 400 < 0.98


@pytest.mark.quick
def test_series_may_differ_by_a_factor() -> None:
    fit = fit_slope([1, 10, 100], [[1.0], [0.1], [0.01]], [[50.0], [5.0], [0.5]])
    assert fit.slope == pytest.approx(-1.0)
    with pytest.raises(ValueError, match="three points"):
        fit_slope([1, 10], [[1.0], [0.1]])


@pytest.mark.quick
@pytest.mark.parametrize(("size", "rank"), [(5, 5), (60, 3), (300, 40)])
def test_lanczos_finds_the_operator_norm(size: int, rank: int) -> None:
    torch.manual_seed(size)
    factors, signs = torch.randn(4, rank, size, dtype=torch.float64), torch.randn(4, rank, dtype=torch.float64)
    matrix = torch.einsum("bri,br,brj->bij", factors, signs, factors)
    found = symmetric_norm(lambda v: (matrix @ v.unsqueeze(-1)).squeeze(-1), 4, size)
    torch.testing.assert_close(found, torch.linalg.matrix_norm(matrix, 2), rtol=1e-8, atol=0)
    zero = symmetric_norm(torch.zeros_like, 4, size)
    assert torch.equal(zero, torch.zeros(4, dtype=torch.float64))
