"""The oracle itself, against formulas written by hand for a multilayer perceptron: matrices only, no autograd."""

import copy

import pytest
import torch
from torch import Tensor, nn

from rules.support import assert_same_update, move
from widealign.oracle import dense_gradients

pytestmark = pytest.mark.quick

LAYERS = (0, 2, 4)


def weights(state: dict[str, Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    return [state[f"{i}.weight"] for i in LAYERS], [state[f"{i}.bias"] for i in LAYERS]


def activities(state: dict[str, Tensor], x: Tensor) -> tuple[list[Tensor], Tensor]:
    """h_0 = x, h_1, h_2 and the output of z_l = W_l h_{l-1} + b_l, h_l = tanh(z_l)."""
    (W1, W2, W3), (b1, b2, b3) = weights(state)
    h1 = torch.tanh(x @ W1.T + b1)
    h2 = torch.tanh(h1 @ W2.T + b2)
    return [x, h1, h2], h2 @ W3.T + b3


def by_hand(rule: str, live: dict, initial: dict, feedback: dict, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    h, f = activities(live, x)
    h0, _ = activities(initial, x)
    e = 2 * (f - y) / f.numel()
    gate1, gate2 = 1 - h[1] ** 2, 1 - h[2] ** 2
    gate1_initial, gate2_initial = 1 - h0[1] ** 2, 1 - h0[2] ** 2
    W, W0 = weights(live)[0], weights(initial)[0]
    none = torch.zeros_like

    def scale(index: int) -> Tensor:
        return W0[index].pow(2).mean().sqrt()

    def chain(B2: Tensor, B3: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        s2 = (e @ B3) * gate2
        return (s2 @ B2) * gate1, s2, e

    match rule:
        case "normal":
            s = chain(W[1], W[2])
        case "align-prop":
            s = chain(W0[1], W0[2])
        case "fa":
            s = chain(feedback["2.weight"], feedback["4.weight"])
        case "usf":
            s = chain(W[1].sign() * scale(1), W[2].sign() * scale(2))
        case "brsf" | "frsf":
            s = chain(W[1].sign() * feedback["2.weight"].abs(), W[2].sign() * feedback["4.weight"].abs())
        case "align-ada" | "align-zero":
            s2 = (e @ W0[2]) * gate2_initial
            s = ((s2 @ W0[1]) * gate1_initial, s2, e)
        case "dfa":
            s = ((e @ feedback["2"].T) * gate1, (e @ feedback["4"].T) * gate2, e)
        case "last-layer":
            s = (none(h[1]), none(h[2]), e)
    presynaptic = h0 if rule == "align-zero" else h
    update = {f"{layer}.weight": s[i].T @ presynaptic[i] for i, layer in enumerate(LAYERS)}
    return update | {f"{layer}.bias": s[i].sum(0) for i, layer in enumerate(LAYERS)}


def random_feedback(rule: str, initial: dict[str, Tensor]) -> dict[str, Tensor]:
    if rule == "dfa":
        return {"2": torch.randn(5, 2).double(), "4": torch.randn(4, 2).double()}
    if rule == "usf":
        return {}
    return {name: torch.randn_like(tensor) for name, tensor in initial.items()}


@pytest.mark.parametrize(
    "rule", ["normal", "fa", "align-prop", "usf", "brsf", "frsf", "align-ada", "align-zero", "dfa", "last-layer"]
)
def test_the_oracle_is_the_formula_written_by_hand(rule: str):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    initial = copy.deepcopy(dict(model.state_dict()))
    move(model, scale=0.5)
    x, y = torch.randn(6, 3).double(), torch.randn(6, 2).double()
    feedback = random_feedback(rule, initial)
    dense = dense_gradients(rule, model, initial, x, lambda f: (f - y).square().mean(), feedback=feedback)
    expected = by_hand(rule, dict(model.state_dict()), initial, feedback, x, y)
    assert_same_update(dense, expected, rtol=1e-12)
    assert expected["4.weight"].any()
