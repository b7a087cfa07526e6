"""Kept gates: z_l(θ0) of every training example, or only its sign, for every site call.

The model's own code runs once more, but every site gives its kept value in place of computing it: the frozen forward
pass costs nothing, the walk back by the initial weights remains. Where nothing but ReLUs and averages stands between
the sites, one bit for each entry of z is enough.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from widealign.fast.bits import pack, unpack
from widealign.fast.initial import InitialNetwork, Listeners, Values, probes_for, taps
from widealign.fast.rows import store
from widealign.fast.surrogates import replaceable, replaced, surrogate
from widealign.graph import Site, graft_tree, parameter_names, signals
from widealign.nn import PaperLayer

SIGN_ONLY = {
    *("relu", "relu_", "leaky_relu", "leaky_relu_", "threshold", "identity", "dropout"),
    *("mean", "sum", "flatten", "view", "reshape", "permute", "transpose", "squeeze", "unsqueeze", "contiguous"),
    *(
        "avg_pool1d",
        "avg_pool2d",
        "adaptive_avg_pool2d",
        "pad",
        "detach",
        "clone",
        "is_floating_point",
        "dim",
        "size",
        "__get__",
        "requires_grad_",
    ),
}
"""Functions of which only the sign of z_l decides the derivative, or nothing does."""


class Gates:
    """A store of z_l(θ0) or of its sign."""

    name = "gates"

    def __init__(self, dtype: torch.dtype | None, most: int):
        self.dtype, self.most = dtype, most
        self.bits: bool | None = None
        self.kept: list[Tensor] = []
        self.like: dict[str, list[Tensor]] = {}

    @staticmethod
    def obstacles(network: InitialNetwork, live: Listeners) -> list[str]:
        """Sites whose computation cannot be skipped."""
        return [
            f"'{site.name}' ({type(site.module).__name__}) is not a linear map, a convolution or a PaperLayer, whose "
            'computation can be skipped: use cache="jacobian" or cache="none"'
            for site in network.sites
            if site.name in live and _learns(site) and not replaceable(site.module)
        ]

    @staticmethod
    def size(live: Listeners, outputs: list[Tensor], dtype: torch.dtype | None) -> int:
        """Bytes for one example, if signs are enough."""
        return sum(-(-tap[0].numel() // 8) for tap in taps(live))  # at least

    def fill(self, network: InitialNetwork, live: Listeners, first: int, count: int, args: Any, kwargs: Any) -> None:
        """Stores z_l(θ0) of `count` new examples, whose inputs are given, from row `first` on."""
        with torch.no_grad(), Outside(current := Values()) as outside:
            network.at(current, args, kwargs)
        learning = {site.name for site in network.sites if _learns(site)}
        seen = {site: calls for site, calls in current.outputs.items() if site in learning}
        if self.bits is None:
            self.like = {site: [z[:1] for z in calls] for site, calls in seen.items()}
            self.bits = outside.functions <= SIGN_ONLY and _signs_teach_the_same(
                network, seen, current.outputs, args, kwargs
            )
        self.kept = store(self.kept, first, [self._kept_form(z) for z in taps(seen)], self.most)

    def _kept_form(self, z: Tensor) -> Tensor:
        rows = _memory_order(z)
        return pack(rows > 0) if self.bits else rows.flatten(1).to(self.dtype or z.dtype)

    def teach(self, network: InitialNetwork, output: Any, live: Listeners, rows: Tensor, args: Any, kwargs: Any) -> Any:
        """`output`, whose error walks back through the initial network, and from each of its sites to the live one."""
        kept = iter(self.kept)
        surrogates = {
            site: [self._value(next(kept), rows, like) for like in calls] for site, calls in self.like.items()
        }
        return graft_tree(output, _without_computing(network, surrogates, live, args, kwargs))

    def _value(self, kept: Tensor, rows: Tensor, like: Tensor) -> Tensor:
        chosen = kept.index_select(0, rows.to(kept.device))
        flat = unpack(chosen, like.numel(), like.dtype) if self.bits else chosen.to(like.dtype)
        if _is_channels_last(like):
            return flat.reshape(len(rows), *like.shape[2:], like.shape[1]).movedim(-1, 1)
        return flat.reshape(len(rows), *like.shape[1:])


class Outside(TorchFunctionMode):
    """Collects the names of the functions that a model calls while none of its sites is running."""

    def __init__(self, current: Values):
        super().__init__()
        self.current = current
        self.functions: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.current.depth == 0:
            self.functions.add(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def _without_computing(
    network: InitialNetwork, surrogates: Mapping[str, list[Tensor]], listeners: Listeners, args: Any, kwargs: Any
) -> Any:
    """The model's own code, with `surrogates` in the place of what its sites would compute."""
    names, modules = parameter_names(network.model), {site.name: site.module for site in network.sites}
    forwards = {}
    for site, values in surrogates.items():
        module, statistics = modules[site], None
        convolution: Any = getattr(module, "conv", module)
        if isinstance(module, PaperLayer):
            assert network.statistics is not None
            statistics = network.statistics.of(f"{site}.norm".strip("."))
        weight = network.weights[names[id(convolution.weight)]]
        forwards[module] = partial(_next, iter(values), module, weight, statistics)
    with replaced(forwards):
        return network.run(network.listening(listeners), network.model, *args, **kwargs)


def _next(values: Iterator[Tensor], module: nn.Module, weight: Tensor, statistics: Any, entering: Tensor) -> Tensor:
    return surrogate(module, next(values), entering, weight, statistics)


def _signs_teach_the_same(
    network: InitialNetwork, seen: dict[str, list[Tensor]], every: Listeners, args: Any, kwargs: Any
) -> bool:
    """Whether a random error reaches every site alike through the values of z and through their signs."""
    heard = []
    for form in (torch.clone, lambda z: (z > 0).to(z.dtype)):
        surrogates = {site: [form(z) for z in calls] for site, calls in seen.items()}
        with torch.enable_grad():
            probes = probes_for(every)
            outputs = signals(_without_computing(network, surrogates, probes, args, kwargs))
        generator = torch.Generator().manual_seed(0)
        errors = [torch.randn(out.shape, generator=generator).to(out) for out in outputs]
        heard.append(torch.autograd.grad(outputs, taps(probes), errors, allow_unused=True))
    return all(one is other or torch.allclose(one, other, rtol=1e-4, atol=0) for one, other in zip(*heard, strict=True))


def _learns(site: Site) -> bool:
    return next(site.module.parameters(), None) is not None


def _is_channels_last(z: Tensor) -> bool:
    return z.dim() == 4 and z.is_contiguous(memory_format=torch.channels_last) and not z.is_contiguous()


def _memory_order(z: Tensor) -> Tensor:
    return z.permute(0, 2, 3, 1) if _is_channels_last(z) else z
