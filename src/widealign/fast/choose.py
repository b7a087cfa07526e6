"""Which form of kept feedback pays."""

from typing import TYPE_CHECKING

from torch import Tensor

from widealign.fast.gates import Gates
from widealign.fast.initial import InitialNetwork, Listeners
from widealign.fast.jacobians import Jacobians

if TYPE_CHECKING:
    from widealign.fast.cache import Choice

_ROOM = 64
"""Examples for which there must be room at least: below, filling the store is all that would happen."""

EXPECTED = {"none": "4/3", "jacobian": "2/3", "gates": "1"}
"""The arithmetic of a step, in units of backprop's."""


def choose(
    choice: "Choice",
    forms: tuple[str, ...],
    obstacles: list[str],
    network: InitialNetwork,
    live: Listeners,
    outputs: list[Tensor],
) -> tuple[str, str]:
    """The mode that promises the shortest step within the budget, and the reason in words."""
    if obstacles:
        return "none", f"nothing is kept, a step costs {EXPECTED['none']} of backprop: {obstacles[0]}"
    batch = len(outputs[0])
    jacobian = Jacobians.size(live, outputs, choice.dtype)
    gates = Gates.size(live, outputs, choice.dtype)
    numbers = jacobian // (choice.dtype or outputs[0].dtype).itemsize  # read at a visit, in place of two passes
    room = {"jacobian": choice.budget // max(1, jacobian), "gates": choice.budget // max(1, gates)}
    refused = Gates.obstacles(network, live) if "gates" in forms else ["only Jacobians can be kept for this rule"]
    if room["jacobian"] >= max(_ROOM, batch) and numbers <= _work(network, live):
        mode, size = "jacobian", jacobian
    elif room["gates"] >= max(_ROOM, batch) and not refused:
        mode, size = "gates", gates
    else:
        reason = refused[0] if refused else f"{choice.budget} bytes are too few at {min(jacobian, gates)} an example"
        return "none", f"nothing is kept, a step costs {EXPECTED['none']} of backprop: {reason}"
    return mode, (
        f"cache={mode!r}: {size} bytes an example, room for {room[mode]} examples, a step costs {EXPECTED[mode]} of "
        f"backprop instead of {EXPECTED['none']}"
    )


def _work(network: InitialNetwork, live: Listeners) -> float:
    """Multiplications of one frozen pass for one example: every weight once for each place at which it is used."""
    work = 0.0
    for site in network.sites:
        for call in live.get(site.name, []):
            places = call[0].numel() / max(1, call.shape[1]) if isinstance(call, Tensor) and call.dim() > 1 else 1
            work += places * sum(p.numel() for p in site.module.parameters() if p.dim() > 1)
    return work
