import pytest

from widealign.config import RunConfig
from widealign.errors import UsageError
from widealign.train import resolve

pytestmark = pytest.mark.quick


def _config(**settings) -> RunConfig:
    return RunConfig(**{"task": "cifar10", "rule": "normal", "width": 8, "lr": 1.0} | settings)


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"data_limit": 45}, 45),
        ({"data_limit": 150}, 50),
        ({"data_limit": 450}, 50),
        ({"data_limit": 1500}, 100),
        ({}, 100),
        ({"task": "add"}, 50),
        ({"protocol": "sound", "data_limit": 45}, 45),
        ({"protocol": "sound", "data_limit": 450}, 50),
        ({"protocol": "sound", "data_limit": 123}, 100),  # the paper's rule would give batches of 1
        ({"batch_size": 7, "data_limit": 45}, 7),
    ],
)
def test_batch_sizes(settings, size):
    assert resolve(_config(**settings)).batch_size == size


def test_a_resolved_configuration_stays_as_it_is():
    once = resolve(_config(data_limit=150))
    assert resolve(once) == once


def test_all_problems_come_in_one_message():
    with pytest.raises(UsageError) as caught:
        resolve(
            _config(
                rule="backprop", width=0, lr=-1.0, epochs=0, seed=-1, momentum=1.0, weight_decay=-0.1, batch_size=0,
                data_limit=0, threads=0, activation="gelu",
            )
        )  # fmt: skip
    message = str(caught.value)
    for expected in (
        "--rule must be one of normal, ",
        "--width must be at least 1; given 0",
        "--lr must be a positive number, 1e+30 at most; given -1.0",
        "--epochs must be at least 1; given 0",
        "--seed must be 0 to 4294967295; given -1",
        "--momentum must be at least 0 and below 1; given 1.0",
        "--weight-decay must be 0 or more, 1e+30 at most; given -0.1",
        "--batch-size must be at least 1; given 0",
        "--data-limit must be at least 1; given 0",
        "--threads must be at least 1; given 0",
        "--activation must be one of relu, tanh; given 'gelu'",
    ):
        assert f"\n  - {expected}" in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("lr", [float("nan"), float("inf"), 0.0])
def test_learning_rates_that_are_none(lr):
    with pytest.raises(UsageError, match="--lr must be a positive number"):
        resolve(_config(lr=lr))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data_limit": 123}, r"batches of 1 have no batch statistics \(gcd\(100, 123\) is the paper's batch size"),
        ({"batch_size": 1}, "batches of 1 have no batch statistics: give a --batch-size of 2 or more"),
        ({"batch_size": 50, "data_limit": 20}, "--batch-size 50 is more than --data-limit 20: give at most 20"),
        ({"task": "add", "loss": "cross-entropy"}, "--loss cross-entropy needs classes, and add predicts numbers"),
        ({"task": "add", "activation": "tanh"}, "add's network has relu, as the paper's; given --activation tanh"),
        ({"task": "add", "parameterization": "standard"}, "add's network is in ntk parameterization"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    with pytest.raises(UsageError, match=message):
        resolve(_config(**settings))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lr": 1e39}, r"--lr must be a positive number, 1e\+30 at most; given 1e\+39"),
        ({"weight_decay": 1e39}, r"--weight-decay must be 0 or more, 1e\+30 at most"),
        ({"threads": 2 * 10**9}, "--threads must be at most 1024; given 2000000000"),
        ({"width": 10**20}, "--width must be at most 1000000000; given 1"),
    ],
)
def test_numbers_that_no_machine_holds_are_refused(settings, words):
    with pytest.raises(UsageError, match=words):
        resolve(_config(**settings))
