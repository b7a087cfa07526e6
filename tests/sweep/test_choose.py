"""`--only`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.experiments import Study
from widealign.sweep.choose import parse_only

pytestmark = pytest.mark.quick
CONFIG = RunConfig(task="cifar10", rule="align-ada", width=8, lr=0.5, data_limit=45)


def test_nothing_means_everything():
    assert parse_only(None)(CONFIG)
    assert parse_only("")(Study(kind="speed"))


@pytest.mark.parametrize(
    "text",
    [
        "width=8",
        "width=16,width=8",
        "width=16,8",
        "width=16,8,rule=fa,align-ada",
        "rule=align-ada,width=8",
        "lr=0.5",
        "n=45",
        "data-limit=45",
        "alignment=false",
    ],
)
def test_matches(text):
    assert parse_only(text)(CONFIG)


@pytest.mark.parametrize("text", ["width=16", "width=8,rule=fa", "lr=1", "task=cifar", "n=450", "width=eight"])
def test_does_not_match(text):
    assert not parse_only(text)(CONFIG)


def test_studies_have_a_kind_and_no_width():
    assert parse_only("kind=theory-1")(Study(kind="theory-1"))
    assert not parse_only("width=8")(Study(kind="theory-1"))


def test_unknown_key_suggests_the_nearest():
    with pytest.raises(UsageError, match="Did you mean width"):
        parse_only("widht=8")


@pytest.mark.parametrize("text", ["width", "width=", "=8"])
def test_malformed(text):
    with pytest.raises(UsageError, match="KEY=VALUE"):
        parse_only(text)


@given(width=st.integers(1, 4096), lr=st.floats(1e-4, 20), seed=st.integers(0, 999))
def test_a_run_matches_its_own_settings_and_no_other_width(width, lr, seed):
    config = RunConfig(task="add", rule="fa", width=width, lr=lr, seed=seed)
    assert parse_only(f"width={width},lr={lr!r},seed={seed}")(config)
    assert not parse_only(f"width={width + 1},lr={lr!r}")(config)
