"""Proposition 1's identity: Σ under equation 8's q equals m ΔW*^T ΔW*, exactly."""

import pytest
import torch

import widealign
from widealign.alignment import Companion, gamma, integrated_error, layer_facts, q_descent, sigma
from widealign.errors import UsageError
from widealign.models import mlp


@pytest.mark.quick
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_sigma_of_the_descent_weighting_is_the_companions_alignment(activation: str) -> None:
    torch.manual_seed(3)
    model = mlp(5, [12, 11], 3, activation=activation).double()
    x, y = torch.randn(7, 5, dtype=torch.float64), torch.randn(7, 3, dtype=torch.float64)
    facts = {name: layer_facts(model, name, x) for name in ("layers.0", "layers.1", "readout")}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    companion = Companion(model, optimizer)
    errors, rates = [], []
    for _ in range(9):
        output = model(x)
        optimizer.zero_grad()
        widealign.mse(output, y).backward()
        errors.append(2 * (output.detach() - y) / 3)  # of one example's loss: the mean over its outputs
        rates.append(optimizer.param_groups[0]["lr"])
        companion.step()
        optimizer.step()
        schedule.step()
    delta = integrated_error(errors, rates)
    for name, (activity, jacobian) in facts.items():
        change = companion.changes()[f"{name}.weight"]
        built = sigma(activity, q_descent(delta, gamma(jacobian)))
        torch.testing.assert_close(built, activity.shape[1] * change.mT @ change, rtol=1e-10, atol=1e-12)
        assert built.abs().max() > 1e-3


@pytest.mark.quick
def test_the_kernel_and_the_weighting_are_symmetric_and_positive() -> None:
    torch.manual_seed(0)
    jacobian, delta = torch.randn(6, 2, 9, dtype=torch.float64), torch.randn(6, 2, dtype=torch.float64)
    kernel = gamma(jacobian)
    torch.testing.assert_close(kernel, kernel.permute(1, 0, 3, 2))
    q = q_descent(delta, kernel)
    assert torch.linalg.eigvalsh(q).min() > -1e-10


@pytest.mark.quick
def test_a_weighting_must_fit_the_examples() -> None:
    with pytest.raises(UsageError, match=r"\(4, 4\)"):
        sigma(torch.zeros(4, 2), torch.zeros(3, 3))
