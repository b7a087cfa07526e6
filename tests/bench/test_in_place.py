"""Backprop in place is backprop."""

import copy

import pytest
import torch

from widealign.bench.in_place import learning_in_place
from widealign.losses import mse
from widealign.models import mlp


@pytest.mark.quick
def test_the_weights_are_those_of_sgd():
    torch.manual_seed(0)
    model = mlp(5, [7, 6], 3).double()
    twin = copy.deepcopy(model)
    x, y = torch.randn(4, 5).double(), torch.randn(4, 3).double()
    optimizer, in_place = torch.optim.SGD(twin.parameters(), lr=0.1), learning_in_place(model, 0.1)
    for _ in range(10):
        optimizer.zero_grad()
        mse(twin(x), y).backward()
        optimizer.step()
        mse(in_place(x), y).backward()
    trained, started = dict(model.named_parameters()), mlp(5, [7, 6], 3)
    for name, expected in twin.named_parameters():
        torch.testing.assert_close(trained[name], expected, rtol=1e-12, atol=1e-14)
        assert trained[name].grad is None
    assert trained.keys() == dict(started.named_parameters()).keys()
