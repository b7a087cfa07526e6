"""The paper's remark: Align-zero is not the linearized network. How far apart they are, by width."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from widealign.theory.fit import fit_slope
from widealign.theory.flow import ActivationName, Problem, Weights, initial_weights, kernel, problem, train, walk
from widealign.theory.linearized import LinearizedNetwork


def run_remark(
    widths: Sequence[int] = (32, 64, 128, 256, 512),
    seeds: Sequence[int] = (1, 2, 3, 4),
    *,
    activation: ActivationName = "tanh",
    steps: int = 60,
    rate: float = 0.4,
) -> dict[str, Any]:
    """‖f_align-zero - f_linearized‖ over training inputs after training, by width and seed.

    Both take every gradient at θ0. But the linearized network's error comes from its own, linear output; Align-zero's
    from the live, nonlinear network at the same weights. They meet only in the wide limit.

    Returns:
        Plain values: `widths`, `seeds`, `series` of `align-zero` and, for comparison, `normal`, with fitted slopes.
    """
    given = problem(activation=activation, steps=steps, rate=rate)
    rows: dict[str, list[list[float]]] = {"align-zero": [], "normal": []}
    for width in widths:
        weights = initial_weights(width, list(seeds), features=given.inputs.shape[1], outputs=given.targets.shape[1])
        reference = linearized_outputs(weights, given)
        for rule, values in rows.items():
            live = walk(train(rule, weights, given).weights, given.inputs, activation).z[-1]  # pyrefly: ignore
            values.append((live - reference).square().sum(-1).mean(-1).sqrt().tolist())
    series = [
        {"name": name, "values": values, "fit": fit_slope(list(widths), values).as_json()}
        for name, values in rows.items()
    ]
    return {"study": "remark", "widths": list(widths), "seeds": list(seeds), "series": series}


def linearized_outputs(weights: Weights, given: Problem) -> Tensor:
    """Outputs on the training inputs of each seed's linearized network after the same steps of descent."""
    start = walk(weights, given.inputs, given.activation).z[-1]
    kernels = kernel(weights, given.inputs, given.activation)
    nets = (LinearizedNetwork(k, k, given.targets, f, f) for k, f in zip(kernels, start, strict=True))
    return torch.stack([net.steps(given.rate, given.steps).train for net in nets])
