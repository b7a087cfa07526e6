"""The tangent kernel against explicit Jacobians, and what is built on it."""

import math

import pytest
import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.losses import mse
from widealign.models import kmnist_cnn, mlp
from widealign.theory import (
    LinearizedNetwork,
    kernel_regression,
    linearize,
    ntk,
    ntk_blocks,
    track_kernel,
    wide_limit,
)
from widealign.theory.flow import initial_weights, kernel, problem


def explicit(model: nn.Module, x1: Tensor, x2: Tensor) -> Tensor:
    """J(x1) J(x2)^T, one output of one example at a time."""

    def jacobian(x: Tensor) -> Tensor:
        rows = []
        for output in model(x).flatten():
            gradients = torch.autograd.grad(output, list(model.parameters()), retain_graph=True)
            rows.append(torch.cat([g.flatten() for g in gradients]))
        return torch.stack(rows)

    outputs = model(x1).shape[1]
    product = jacobian(x1) @ jacobian(x2).mT
    return product.view(len(x1), outputs, len(x2), outputs).permute(0, 2, 1, 3)


def network() -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    model = mlp(4, [7, 6], 3, activation="tanh").double()
    return model, torch.randn(5, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)


@pytest.mark.quick
@pytest.mark.parametrize("memory", [1, 5000, 2**28])
def test_the_kernel_is_a_product_of_jacobians_within_any_memory(memory: int) -> None:
    model, x1, x2 = network()
    torch.testing.assert_close(ntk(model, x1, x2, memory=memory), explicit(model, x1, x2), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(ntk(model, x1, memory=memory), explicit(model, x1, x1), rtol=1e-10, atol=1e-12)


@pytest.mark.quick
def test_trace_and_blocks_are_parts_of_the_full_kernel() -> None:
    model, x1, x2 = network()
    full = ntk(model, x1, x2)
    trace = full.diagonal(dim1=2, dim2=3).mean(-1)
    torch.testing.assert_close(ntk(model, x1, x2, outputs="trace"), trace, rtol=1e-10, atol=1e-12)
    blocks = ntk_blocks(model, x1, x2)
    assert list(blocks) == [name for name, _ in model.named_parameters()]
    torch.testing.assert_close(sum(blocks.values()), full, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(blocks["readout.bias"], torch.eye(3, dtype=full.dtype).expand(5, 3, 3, 3))


@pytest.mark.quick
def test_batch_statistics_make_the_batch_one_function() -> None:
    torch.manual_seed(0)
    model, x = kmnist_cnn(2).double(), torch.rand(4, 1, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(ntk(model, x), explicit(model, x, x), rtol=1e-8, atol=1e-10)


@pytest.mark.quick
def test_dense_formulas_of_the_width_rates_give_the_same_kernel() -> None:
    given = problem(examples=4, outputs=2)
    weights = initial_weights(9, [1], features=8, outputs=2)
    model = mlp(8, [9, 9], 2, activation="tanh").double()
    with torch.no_grad():
        for layer, weight in zip([*model.layers, model.readout], weights, strict=True):
            layer.weight.copy_(weight[0])
    only = {name: p for name, p in model.named_parameters() if name.endswith("weight")}
    both = {**only, **{name: p for name, p in model.named_parameters() if name not in only}}
    theirs = sum(block for name, block in ntk_blocks(model, given.inputs, parameters=both).items() if name in only)
    torch.testing.assert_close(kernel(weights, given.inputs, "tanh")[0], theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.quick
def test_kernel_drift() -> None:
    model, x, _ = network()
    drift = track_kernel(model, x)
    assert drift() == 0.0
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(2.0)
    assert drift() > 0.1


def test_the_linearized_network_in_function_space_is_the_one_in_parameter_space() -> None:
    model, x, x_test = network()
    y = torch.randn(5, 3, dtype=torch.float64)
    net = linearize(model, x, y, x_test)
    theta = {name: p.detach() for name, p in model.named_parameters()}
    inputs = torch.cat([x, x_test])
    start = model(inputs).detach()
    jacobian = torch.func.jacrev(lambda t: torch.func.functional_call(model, t, (inputs,)))(theta)
    moved = {name: torch.zeros_like(p) for name, p in theta.items()}
    f = start
    for _ in range(20):
        error = 2 * (f[:5] - y) / y.numel()
        for name, delta in moved.items():
            delta -= 0.3 * torch.tensordot(error, jacobian[name][:5], dims=([0, 1], [0, 1]))
        f = start + sum(torch.einsum("na...,...->na", jacobian[name], delta) for name, delta in moved.items())
    for found in (net.steps(0.3, 20), net.descend(mse, 0.3, 20)):
        torch.testing.assert_close(found.train, f[:5], rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(found.test, f[5:], rtol=1e-9, atol=1e-11)


@pytest.mark.quick
def test_flow_is_the_limit_of_small_steps_and_ends_in_kernel_regression() -> None:
    model, x, x_test = network()
    y = torch.randn(5, 3, dtype=torch.float64)
    net = linearize(model, x, y, x_test)
    torch.testing.assert_close(net.after(2.0).test, net.steps(2e-5, 100_000).test, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(net.after(1e9).test, net.limit().test, rtol=1e-6, atol=1e-6)
    assert torch.equal(net.after(math.inf).test, net.limit().test)
    torch.testing.assert_close(net.limit().train, y, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(net.after(0.0).test, model(x_test).detach())


@pytest.mark.quick
def test_kernel_regression_against_the_normal_equations() -> None:
    torch.manual_seed(0)
    x, x_test = torch.randn(6, 8, dtype=torch.float64), torch.randn(4, 8, dtype=torch.float64)
    y = torch.randn(6, 2, dtype=torch.float64)
    for ridge in (0.0, 0.7):
        expected = x_test @ x.mT @ torch.linalg.solve(x @ x.mT + ridge * torch.eye(6), y)
        torch.testing.assert_close(kernel_regression(x @ x.mT, x_test @ x.mT, y, ridge=ridge), expected)
    linear = nn.Linear(8, 2, bias=False).double()
    torch.testing.assert_close(wide_limit(linear, x, y, x_test), kernel_regression(x @ x.mT, x_test @ x.mT, y))


@pytest.mark.quick
def test_errors_say_what_was_given() -> None:
    with pytest.raises(UsageError, match=r"\(3, 4\)"):
        LinearizedNetwork(torch.eye(3), torch.zeros(3, 4), torch.zeros(3, 1))
    with pytest.raises(UsageError, match="memory="):
        ntk(nn.Linear(2, 1), torch.zeros(1, 2), memory=0)
    with pytest.raises(UsageError, match="outputs= is one of full, trace; it is 'diag'"):
        ntk(nn.Linear(2, 1), torch.zeros(1, 2), outputs="diag")
    with pytest.raises(UsageError, match=r"\['bias', 'weight'\]; \['wight'\] are not among them"):
        ntk(nn.Linear(2, 1), torch.zeros(1, 2), parameters={"wight": torch.zeros(1, 2)})
    with pytest.raises(UsageError, match="give at least one that learns"):
        ntk(nn.Tanh(), torch.zeros(1, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_its_spectrum_is_that_of_curvlinops_gauss_newton_matrix() -> None:
    """J J^T and J^T J have the same eigenvalues; with a sum of squares the Gauss-Newton matrix is 2 J^T J."""
    curvlinops = pytest.importorskip("curvlinops", reason="an oracle: pip install -c constraints.txt '.[oracles]'")
    model, x, _ = network()
    parameters = list(model.parameters())
    data = [(x, torch.zeros(5, 3, dtype=x.dtype))]
    operator = curvlinops.GGNLinearOperator(model, nn.MSELoss(reduction="sum"), parameters, data)
    size = sum(p.numel() for p in parameters)
    dense = operator @ torch.eye(size, dtype=x.dtype)
    largest = torch.linalg.eigvalsh(dense).flip(0)[:15]
    kernel_matrix = ntk(model, x).permute(0, 2, 1, 3).reshape(15, 15)
    expected = 2 * torch.linalg.eigvalsh(kernel_matrix).flip(0)
    torch.testing.assert_close(largest, expected, rtol=1e-10, atol=1e-10)
