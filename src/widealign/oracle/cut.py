"""The cut network: one pass in which the output of every site is an independent variable."""

import copy
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.parametrize import is_parametrized

from widealign.oracle.packing import Packed, jacobian, pack

Key = tuple[str, int]
"""A call of a site: the name of its module, and how many calls of that module came before in this pass."""
Replaced = Mapping[Key, Any] | None
"""What the calls are to hand on in the place of their outputs, if anything."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """One call z_c = F_c(parameters, h_c) of a site, and all that is needed to repeat it."""

    key: Key
    module: nn.Module
    parameters: Mapping[str, str]
    buffers: Mapping[str, Tensor]
    inputs: Packed
    output: Packed
    random_state: Tensor
    has_graph: bool

    def evaluate(self, state: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """F_c with the parameters that `state` holds under their names in the model."""
        own = {local: state[name] for local, name in self.parameters.items()}
        buffers = {name: buffer.clone() for name, buffer in self.buffers.items()}
        args, kwargs = self.inputs.unpack(inputs)
        torch.set_rng_state(self.random_state)
        with torch.set_grad_enabled(self.has_graph):
            return pack(call_with(self.module, {**buffers, **own}, args, kwargs)).vector

    def input_jacobian(self, state: Mapping[str, Tensor]) -> Tensor:
        """dF_c / dh_c at this call's inputs and the parameters in `state`."""
        return jacobian(lambda inputs: self.evaluate(state, inputs), self.inputs.vector)

    def parameter_jacobian(self, state: Mapping[str, Tensor], name: str) -> Tensor:
        """dF_c / d(parameter `name`) at this call's inputs and the parameters in `state`."""

        def function(flat: Tensor) -> Tensor:
            return self.evaluate({**state, name: flat.view_as(state[name])}, self.inputs.vector)

        return jacobian(function, state[name].reshape(-1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """G maps (z_1 … z_C) to (h_1 … h_C, f); `matrix` is its whole Jacobian at the values of the pass."""

    calls: tuple[Call, ...]
    output: Packed
    state: Mapping[str, Tensor]
    matrix: Tensor

    def input_by_output(self, d: int, c: int) -> Tensor:
        """dh_d / dz_c along paths without any other site: features of h_d × features of z_c."""
        return self.matrix[_span([call.inputs for call in self.calls], d), self._columns(c)]

    def model_by_output(self, c: int) -> Tensor:
        """Df / dz_c along paths without any other site: entries of f × features of z_c."""
        rows = slice(self.matrix.shape[0] - self.output.vector.numel(), None)
        return self.matrix[rows, self._columns(c)]

    def _columns(self, c: int) -> slice:
        return _span([call.output for call in self.calls], c)


def cut(model: nn.Module, state: Mapping[str, Tensor], sites: Sequence[str], args: Any, kwargs: Any) -> Cut:
    """Run `model` with the tensors in `state`, and differentiate it with all sites cut out.

    Both passes start from the current random state, so masks are the same in each.
    """
    start = torch.get_rng_state()
    with torch.enable_grad():  # a model may switch it off for a part of itself
        calls, output = record(model, state, sites, args, kwargs)

    def network(variables: Tensor) -> Tensor:
        torch.set_rng_state(start)
        given = dict(zip([call.key for call in calls], _unpack_all(calls, variables), strict=True))
        cut_calls, cut_output = record(model, state, sites, args, kwargs, replaced=given)
        return torch.cat([*(call.inputs.vector for call in cut_calls), cut_output.vector])

    values = torch.cat([call.output.vector for call in calls])
    return Cut(calls=tuple(calls), output=output, state=state, matrix=jacobian(network, values))


def jacobian_entries(calls: Sequence[Call], output: Packed) -> int:
    """How many numbers the Jacobians of the cut network and of its sites hold."""
    inputs, outputs = ([getattr(call, end).vector.numel() for call in calls] for end in ("inputs", "output"))
    parameters = [sum(p.numel() for p in call.module.parameters()) for call in calls]
    local = sum(z * (h + p) for z, h, p in zip(outputs, inputs, parameters, strict=True))
    return (sum(inputs) + output.vector.numel()) * sum(outputs) + local


def learning_sites(model: nn.Module, named: Sequence[str] | None = None) -> list[str]:
    """Names of the modules that learn: those `named`, else declared ones and the leaves that own parameters.

    Modules whose parameters are inputs of the network (a trained initial state) are always among them.
    """
    found: list[str] = []
    for name, module in model.named_modules():
        inside = any(not site or name.startswith(f"{site}.") for site in found)
        by_default = getattr(module, "learning_site", False) or _is_owning_leaf(module)
        chosen = by_default if named is None else name in named
        if not inside and (chosen or getattr(module, "is_input", False)):
            found.append(name)
    return found


def grains(model: nn.Module, site: str) -> list[str]:
    """The leaves that own the parameters of a site; the site itself if they do not own all of them."""
    module = model.get_submodule(site)
    leaves = {name: leaf for name, leaf in module.named_modules() if _is_owning_leaf(leaf)}
    owned = {id(parameter) for leaf in leaves.values() for parameter in leaf.parameters()}
    whole = any(id(parameter) not in owned for parameter in module.parameters())
    return [site] if whole else [f"{site}.{name}".strip(".") for name in leaves]


def _is_owning_leaf(module: nn.Module) -> bool:
    lists = (nn.ParameterList, nn.ParameterDict)  # never called; their owner is
    is_leaf = is_parametrized(module) or all(isinstance(child, lists) for child in module.children())
    return is_leaf and bool(list(module.parameters())) and not isinstance(module, lists)


def _unpack_all(calls: Sequence[Call], variables: Tensor) -> list[Any]:
    parts = variables.split([call.output.vector.numel() for call in calls])
    return [call.output.unpack(part) for call, part in zip(calls, parts, strict=True)]


def record(
    model: nn.Module,
    state: Mapping[str, Tensor],
    sites: Sequence[str],
    args: Any,
    kwargs: Any,
    replaced: Replaced = None,
) -> tuple[list[Call], Packed]:
    """One pass that lists the calls of all sites; with `replaced`, the site outputs are those given there."""
    calls: list[Call] = []
    # Copies: a pass of the oracle never moves running statistics, nor inputs that the model changes in place.
    copies = {name: value.clone() for name, value in state.items()}
    args, kwargs = copy.deepcopy((args, kwargs))
    with _recorded(model, sites, calls, replaced):
        output = pack(call_with(model, copies, args, kwargs))
    return calls, output


def call_with(module: nn.Module, state: Mapping[str, Tensor], args: Any, kwargs: Any) -> Any:
    """The output of `module` with the tensors in `state`, each in all the places that it is tied to."""
    tensors = (*module.named_parameters(), *module.named_buffers())
    chosen = {id(tensor): state[name] for name, tensor in tensors if name in state}
    places = {
        f"{owner}.{name}".strip("."): chosen[id(tensor)]
        for owner, part in module.named_modules()
        for name, tensor in (*part._parameters.items(), *part._buffers.items())
        if id(tensor) in chosen
    }
    return functional_call(module, places, args, kwargs, tie_weights=False)


@contextmanager
def _recorded(
    model: nn.Module, sites: Sequence[str], calls: list[Call], replaced: Replaced
) -> Generator[None, None, None]:
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    hooks = []
    for site in sites:
        module = model.get_submodule(site)
        parameters = {
            local: names[id(parameter)] for local, parameter in module.named_parameters(remove_duplicate=False)
        }
        recorder = _Recorder(site, parameters, calls, replaced)
        hooks.append(module.register_forward_pre_hook(recorder.before, with_kwargs=True))
        hooks.append(module.register_forward_hook(recorder.after, with_kwargs=True))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _Recorder:
    """Hooks of one site. What `before` sees is kept until `after`: a site may change its inputs in place."""

    def __init__(self, site: str, parameters: Mapping[str, str], calls: list[Call], replaced: Replaced):
        self.site, self.parameters = site, parameters
        self.calls, self.replaced = calls, replaced
        self.count = 0

    def before(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self.inputs = pack((args, kwargs))
        self.buffers = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
        self.random_state = torch.get_rng_state()
        self.has_graph = torch.is_grad_enabled()

    def after(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        key = (self.site, self.count)
        self.count += 1
        self.calls.append(
            Call(
                key=key,
                module=module,
                parameters=self.parameters,
                buffers=self.buffers,
                inputs=self.inputs,
                output=pack(output),
                random_state=self.random_state,
                has_graph=self.has_graph,
            )
        )
        return None if self.replaced is None else self.replaced[key]


def _span(parts: Sequence[Packed], index: int) -> slice:
    start = sum(part.vector.numel() for part in parts[:index])
    return slice(start, start + parts[index].vector.numel())
