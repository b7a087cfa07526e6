"""Every rule as explicit matrices in float64: the specification that the fast mechanisms are tested against.

Sites are called in the order c = 1 … C, with z_c = F_c(θ, h_c). The cut network G maps (z_1 … z_C) to
(h_1 … h_C, f), and e = dL/df at the live output. A rule is where its signals s_c come from, and where it learns:

    walk    s_c = (df/dz_c)ᵀ e + Σ_d (dh_d/dz_c)ᵀ (dF_d/dh_d)ᵀ s_d       dF_d/dh_d at the carrier weights
    direct  s_c = (df/dz_c)ᵀ e + Σ_d (dh_d/dz_c)ᵀ B_d e
    learn   gradient of θ = Σ_c (dF_c/dθ)ᵀ s_c

    rule                 signals                                          learns at
    normal               walk, live network, live weights                 live network
    fa, align-prop,      walk, live network, substitute weights           live network
      usf, brsf, frsf
    align-ada            walk, initial network, initial weights           live network
    align-zero           walk, initial network, initial weights           initial network
    dfa                  direct, live network                             live network
    last-layer           direct, live network, without B                  live network
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.oracle.cut import Call, Cut, Key, cut, grains, learning_sites
from widealign.oracle.packing import Packed, to_float64

Signals = dict[Key, Tensor]

CHAINED = ("normal", "fa", "align-prop", "usf", "brsf", "frsf")
INITIAL = ("align-ada", "align-zero")
DIRECT = ("dfa", "last-layer")
RULES = (*CHAINED, *INITIAL, *DIRECT)


def dense_gradients(
    rule_id: str,
    model: nn.Module,
    initial: Mapping[str, Tensor],
    inputs: Any,
    loss: Callable[[Any], Tensor],
    *,
    feedback: Mapping[str, Tensor] | None = None,
    sites: Sequence[str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Tensor]:
    """The update of a rule at the present parameters of `model`, from Jacobians written out as matrices.

    Args:
        rule_id: one of the rules' names, such as "align-ada".
        model: the live model, any graph; it is copied, not changed.
        initial: the initial parameters (and buffers) by their names in `model`.
        inputs: what the model is called with: a tensor, or a tuple of positional arguments.
        loss: maps the model's output to a scalar.
        feedback: what is random in the rule. Chained rules: a tensor for each parameter's name. dfa: for each site's
            name a matrix (features of the input of one example × outputs of one example); with as many rows as the
            input has channels, it is shared by all locations.
        sites: names of the modules that learn; by default those that declare it, and the leaves that own parameters.
        kwargs: the model's keyword arguments.

    Returns:
        The float64 gradient by name, for each parameter that the rule's signals reach.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        >>> x, initial = torch.randn(5, 3), copy.deepcopy(model.state_dict())
        >>> ada = dense_gradients("align-ada", model, initial, x, lambda f: f.square().sum())
        >>> backprop = dense_gradients("normal", model, initial, x, lambda f: f.square().sum())
        >>> all(torch.allclose(ada[name], backprop[name]) for name in backprop)  # at initialisation they agree
        True
    """
    if rule_id not in RULES:
        raise UsageError(f"the oracle knows the rules {', '.join(RULES)}; got {rule_id!r}")
    model = copy.deepcopy(model).to("cpu", torch.float64)
    live_state = to_float64({**dict(model.named_parameters()), **dict(model.named_buffers())})
    inputs_of_network = {
        f"{name}.{own}"
        for name, module in model.named_modules()
        if getattr(module, "is_input", False)
        for own in module.state_dict()
    }
    remembered = {name: tensor for name, tensor in initial.items() if name in {*live_state} - inputs_of_network}
    initial_state = {**live_state, **to_float64(remembered)}
    random = to_float64(dict(feedback or {}))
    args = to_float64(inputs if isinstance(inputs, tuple) else (inputs,))
    names = learning_sites(model, sites)
    if rule_id in CHAINED:
        names = [grain for site in names for grain in grains(model, site)]

    with torch.random.fork_rng(devices=[]):
        start = torch.get_rng_state()
        live = cut(model, live_state, names, args, to_float64(dict(kwargs or {})))
        error = output_error(live.output, loss)
        learns_at = live
        if rule_id in CHAINED:
            carrier = carrier_weights(rule_id, live_state, initial_state, random)
            signals = walk(live, carrier, error)
        elif rule_id in INITIAL:
            torch.set_rng_state(start)
            frozen = cut(model, initial_state, names, args, to_float64(dict(kwargs or {})))
            signals = walk(frozen, initial_state, error)
            learns_at = frozen if rule_id == "align-zero" else live
        else:
            signals = direct(live, random if rule_id == "dfa" else {}, error)
        trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        return learn(learns_at, signals, trained)


def output_error(output: Packed, loss: Callable[[Any], Tensor]) -> Tensor:
    """E = dL/df as one vector."""
    point = output.vector.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(loss(output.unpack(point)), point)[0]


def carrier_weights(
    rule_id: str, live: Mapping[str, Tensor], initial: Mapping[str, Tensor], feedback: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The weights that carry the error backward, by name; vectors (gains, biases) are live and never random.

    normal W(t);  align-prop W(0);  fa R;  usf sign W(t) · rms W(0);  brsf and frsf sign W(t) · |R|
    """

    def carrier(name: str) -> Tensor:
        weight = live[name]
        if rule_id == "normal":
            return weight
        if rule_id == "align-prop":
            return initial[name]
        if weight.ndim < 2 and (rule_id != "fa" or name not in feedback):
            return weight
        if rule_id == "fa":
            return _given(feedback, name)
        if rule_id == "usf" and name not in feedback:
            return weight.sign() * initial[name].square().mean().sqrt()
        return weight.sign() * _given(feedback, name).abs()

    return {name: carrier(name) if tensor.is_floating_point() else tensor for name, tensor in live.items()}


def walk(network: Cut, weights: Mapping[str, Tensor], error: Tensor) -> Signals:
    """s_c = (df/dz_c)ᵀ e + Σ_{d>c} (dh_d/dz_c)ᵀ (dF_d/dh_d)ᵀ s_d, with dF_d/dh_d at the given weights."""
    signals: Signals = {}
    at_input: dict[int, Tensor] = {}
    for c in reversed(range(len(network.calls))):
        signal = network.model_by_output(c).T @ error
        for d in range(c + 1, len(network.calls)):
            signal = signal + network.input_by_output(d, c).T @ at_input[d]
        at_input[c] = network.calls[c].input_jacobian(weights).T @ signal
        signals[network.calls[c].key] = signal
    return signals


def direct(network: Cut, feedback: Mapping[str, Tensor], error: Tensor) -> Signals:
    """s_c = (df/dz_c)ᵀ e + Σ_{d>c} (dh_d/dz_c)ᵀ B_d e; without feedback, only the first term."""
    signals: Signals = {}
    parts = network.output.split(error) if feedback else ()
    e = torch.cat([part.flatten(1) if part.ndim > 1 else part[:, None] for part in parts], 1) if parts else error
    for c, call in enumerate(network.calls):
        signal = network.model_by_output(c).T @ error
        for d in range(c + 1, len(network.calls)) if feedback else ():
            signal = signal + network.input_by_output(d, c).T @ projected(feedback, network.calls[d], e)
        signals[call.key] = signal
    return signals


def projected(feedback: Mapping[str, Tensor], call: Call, e: Tensor) -> Tensor:
    """B e for each example, in the order of the entries of h_d; zero for an input that has no B."""
    parts = [torch.zeros(0, dtype=torch.float64)]
    for h in call.inputs.tensors:
        features = h.numel() // len(e)
        # A site whose inputs differ in size has one B for each size.
        candidates = [feedback.get(call.key[0]), feedback.get(f"{call.key[0]}:{features}")]
        B = next((B for B in candidates if B is not None and len(B) in (features, h.shape[1])), None)
        if B is None:
            parts.append(torch.zeros(h.numel(), dtype=torch.float64))
        elif len(B) == features:
            parts.append((e @ B.T).reshape(-1))
        else:  # shared over space: every location of a channel gets an equal part
            locations = h[0, 0].numel()
            parts.append((e @ B.T / locations)[:, :, None].expand(-1, -1, locations).reshape(-1))
    return torch.cat(parts)


def learn(network: Cut, signals: Signals, trained: set[str]) -> dict[str, Tensor]:
    """The gradient of each parameter θ: Σ_c (dF_c/dθ)ᵀ s_c over the calls that own it."""
    gradients: dict[str, Tensor] = {}
    for call in network.calls:
        signal = signals[call.key]
        if not signal.any():
            continue
        for name in sorted(set(call.parameters.values()) & trained):
            gradient = (call.parameter_jacobian(network.state, name).T @ signal).view_as(network.state[name])
            gradients[name] = gradients.get(name, 0) + gradient
    return gradients


def _given(feedback: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in feedback:
        raise UsageError(f"this rule's feedback is random: give its tensor for {name!r}; got {sorted(feedback)}")
    return feedback[name]
