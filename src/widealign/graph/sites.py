"""Sites: where parameters learn. Finding them, and refusing models that a rule would train wrongly."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch._dynamo.eval_frame import OptimizedModule
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import is_parametrized

from widealign.errors import UsageError

Selector = type[nn.Module] | str | Callable[[str, nn.Module], bool]
Sites = Selector | Iterable[Selector] | None

_LISTS = (nn.ParameterList, nn.ParameterDict)
"""Modules that are never called: their parameters are their owner's."""

_FUSED = {
    nn.RNNBase: "use its unrolled form, widealign.nn.RNN, LSTM or GRU",
    nn.MultiheadAttention: "use its explicit form, widealign.nn.Attention",
}


@dataclass(frozen=True, kw_only=True)
class Site:
    """A module whose parameters learn from one teaching signal, that at its output."""

    name: str
    module: nn.Module


def find_sites(model: nn.Module, sites: Sites = None) -> tuple[Site, ...]:
    """The sites of `model` in the order of its modules; a module inside a site is not a site of its own.

    Args:
        model: Any module.
        sites: Module types, module names or predicates `(name, module) -> bool`; one or several. By default every
            module that owns parameters and has no other one below it that does, and every module whose class declares
            `learning_site = True`.
    """
    chosen = _selection(model, sites)
    found: list[Site] = []
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{site.name}.") or not site.name for site in found)
        if not inside and chosen(name, module):
            found.append(Site(name=name, module=module))
    return tuple(found)


def grains(site: Site) -> tuple[Site, ...]:
    """The leaf modules of a site that own its parameters: the grain at which an error is carried back.

    A site that owns parameters beside its leaves cannot be split, and is its own grain.
    """
    leaves = tuple(
        Site(name=f"{site.name}.{leaf.name}".strip("."), module=leaf.module)
        for leaf in find_sites(site.module, lambda name, module: _owns_parameters(module) and _is_leaf(module))
    )
    covered = {id(p) for leaf in leaves for p in leaf.module.parameters()}
    return leaves if all(id(p) in covered for p in site.module.parameters()) else (site,)


def is_input(module: nn.Module) -> bool:
    """Whether a module declares its parameters to be inputs of the network (a trained initial state), not synapses."""
    return bool(getattr(module, "is_input", False))


def input_parameters(model: nn.Module) -> set[int]:
    """The ids of the parameters that are inputs of the network."""
    return {id(p) for module in model.modules() if is_input(module) for p in module.parameters()}


def problems(model: nn.Module, sites: tuple[Site, ...], *, chosen: bool = False) -> Iterator[str]:
    """Everything that would make a rule train `model` wrongly, each with its remedy.

    Args:
        model: The user's.
        sites: Where its parameters learn.
        chosen: Whether the user named the sites.
    """
    names = {id(p): name for name, p in model.named_parameters()}
    if not chosen and any(not site.name and _is_network(site.module) for site in sites):
        yield (
            "it owns its weights itself, so it would be one site, inside of which every rule is backpropagation: move "
            "each weight into a module of its own, such as nn.Linear, or give sites='' if that is what you want"
        )
    for name, module in model.named_modules():
        if isinstance(module, OptimizedModule) or module._compiled_call_impl is not None:
            yield (
                f"'{name or 'the model'}' is compiled, and compiled code does not see a rule that comes later: wrap "
                "the model as it was before, then use torch.compile(learner)"
            )
        if isinstance(module, torch.jit.ScriptModule):
            yield f"'{name or 'the model'}' is a script of torch.jit, whose calls no rule sees: use the Python module"
    if not names:
        yield "it has no parameters: give a model with at least one learning layer"
    fused = [(name, m) for name, m in model.named_modules() if isinstance(m, tuple(_FUSED))]
    for name, module in fused:
        remedy = next(text for kind, text in _FUSED.items() if isinstance(module, kind))
        yield f"'{name or 'the model'}' ({type(module).__name__}) hides its sites in one fused operation: {remedy}"
    for name, parameter in model.named_parameters():
        if is_lazy(parameter):
            yield f"'{name}' is not initialised yet: run the model once on an example before wrapping it"
        elif parameter.is_complex():
            yield f"'{name}' is complex, and feedback is defined for real weights: use its real and imaginary parts"
        elif parameter.is_meta:
            yield f"'{name}' is not initialised yet, it is on the meta device: use to_empty() and draw its values first"
    covered = {id(p) for site in sites for p in site.module.parameters()} | input_parameters(model)
    covered |= {id(p) for _, module in fused for p in module.parameters()}
    for identity, name in names.items():
        if identity not in covered and model.get_parameter(name).requires_grad:
            owner = name.rpartition(".")[0]
            owner = owner.rpartition(".")[0] if isinstance(model.get_submodule(owner), _LISTS) else owner
            yield (
                f"'{name}' belongs to no site: move it into a module of its own that is called, name "
                f"'{owner or 'the model'}' in sites= beside the other sites, or set requires_grad_(False) if it shall "
                "not learn"
            )


def _selection(model: nn.Module, sites: Sites) -> Callable[[str, nn.Module], bool]:
    if sites is None:
        return _is_default_site
    selectors = [sites] if isinstance(sites, (str, type)) or callable(sites) else list(sites)
    known = dict(model.named_modules())
    unknown = [s for s in selectors if isinstance(s, str) and s not in known]
    if unknown:
        raise UsageError(f"sites= names modules of the model; {unknown} are not among {sorted(filter(None, known))}.")

    def chosen(name: str, module: nn.Module) -> bool:
        return any(
            isinstance(module, s) if isinstance(s, type) else name == s if isinstance(s, str) else s(name, module)
            for s in selectors
        )

    return chosen


def _is_default_site(name: str, module: nn.Module) -> bool:
    if is_input(module):
        return False
    return bool(getattr(module, "learning_site", False)) or (_is_leaf(module) and _owns_parameters(module))


def _is_network(module: nn.Module) -> bool:
    """Whether a module of the user's own holds several weights directly."""
    own = not type(module).__module__.startswith(("torch.", "widealign."))
    return own and _is_leaf(module) and sum(p.dim() > 1 for p in module.parameters()) > 1


def _is_leaf(module: nn.Module) -> bool:
    """Whether no module below owns parameters by itself; parameter-free children (a gate, dropout) are its own."""
    return is_parametrized(module) or not any(_owns_parameters(child) for child in module.children())


def _owns_parameters(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None and not isinstance(module, _LISTS)


def parameter_names(model: nn.Module) -> dict[int, str]:
    """Every parameter's first name by identity; tied parameters have one."""
    return {id(p): name for name, p in model.named_parameters()}
