"""Student's t against printed tables, and against the limits that have closed forms."""

from math import pi, tan
from statistics import NormalDist

import pytest

from widealign.student import t_quantile

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (10, 2.2281), (30, 2.0423)]
)
def test_quantiles_of_tables(freedom, value):
    assert t_quantile(freedom) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_one_degree_of_freedom_is_cauchys_and_many_are_gausss(share):
    assert t_quantile(1, share) == pytest.approx(tan(pi * share / 2), rel=1e-9)
    assert t_quantile(1e7, share) == pytest.approx(NormalDist().inv_cdf(0.5 + share / 2), rel=1e-5)


def test_freedom_need_not_be_whole():
    assert t_quantile(3) < t_quantile(2.5) < t_quantile(2)
