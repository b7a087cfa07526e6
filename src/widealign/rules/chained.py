"""Chained rules: the error walks back through the live network, but every site carries it with substitute weights.

Backpropagation:  s_l = σ'(z_l) ⊙ W_{l+1}^T s_{l+1}        update: s_l h_{l-1}^T
A chained rule:   s_l = σ'(z_l) ⊙ B_{l+1}^T s_{l+1}        update: s_l h_{l-1}^T

Only B differs from rule to rule. Gates, normalisers and activities are the live network's.
"""

from abc import abstractmethod
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from widealign.graph import (
    Pass,
    Replayed,
    Site,
    carry,
    copied,
    detached,
    graft_tree,
    grains,
    is_known,
    parameter_names,
    replay,
    signals,
)
from widealign.rules.learner import Learner


class Chained(Learner):
    """A rule that is backpropagation with substitute weights B. Subclasses say what B is."""

    def __init__(self, model: nn.Module, **options: Any):
        super().__init__(model, **options)
        names = parameter_names(model)
        self._names = {
            point.name: (point.module, {own: names[id(p)] for own, p in point.module.named_parameters()})
            for point in self.hook_points()
        }

    @abstractmethod
    def substitutes(self) -> dict[str, Tensor]:
        """B for each parameter, by the parameter's name in the model. Called once a training pass."""

    def hook_points(self) -> tuple[Site, ...]:
        """Leaf modules, also inside larger sites: a normaliser within a site stays on the live path."""
        return tuple(grain for site in self.sites for grain in grains(site))

    def replays(self) -> bool:
        """Modules whose insides are not known are called twice."""
        return any(not _is_plain(site.module) for site in self.hook_points())

    @property
    def feedback(self) -> dict[str, Tensor]:
        """The substitute of each parameter, by name."""
        return self.substitutes()

    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """One forward pass; each site's output has two graphs behind it, to its parameters and to its inputs."""
        substitutes = self.substitutes()
        feedback = {
            point: (module, {own: substitutes[name] for own, name in names.items()})
            for point, (module, names) in self._names.items()
        }
        return self.run(_ChainedPass(feedback), self.model, *args, **kwargs)


class _ChainedPass(Pass):
    def __init__(self, feedback: dict[str, tuple[nn.Module, dict[str, Tensor]]]):
        self.feedback = feedback
        self.entered: list[tuple[Any, Any, Any]] = []
        self.replaying = False

    @property
    def cuts(self) -> bool:  # pyrefly: ignore
        return not self.replaying

    def enter(self, site: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        if self.replaying:
            return args, kwargs
        module, _ = self.feedback[site]
        plain = _is_plain(module)
        kept = (args, kwargs) if plain else copied((args, kwargs))
        self.entered.append((*kept, nullcontext() if plain or torch.compiler.is_compiling() else Replayed(module)))
        return detached((args, kwargs))

    def leave(self, site: str, output: Any) -> Any:
        if self.replaying:
            return output
        args, kwargs, replayed = self.entered.pop()
        module, feedback = self.feedback[site]
        entering = [signal for signal in signals((args, kwargs)) if signal.requires_grad]
        if not entering:  # the first layer: nobody needs an input gradient
            return output
        if is_known(module) and len(entering) == 1 and isinstance(output, Tensor):
            return carry(module, output, entering[0], feedback["weight"])
        self.replaying = True
        try:
            with replayed:
                return graft_tree(output, output, replay(module, feedback, args, kwargs))
        finally:
            self.replaying = False


def _is_plain(module: nn.Module) -> bool:
    """Whether a second call finds the module and its inputs as they were: it draws nothing and changes nothing."""
    own = type(module).__module__.startswith(("torch.", "widealign.")) and "forward" not in vars(module)
    hooked = any(not getattr(hook, "of_rules", False) for hook in module._forward_pre_hooks.values())
    return own and not hooked and not is_parametrized(module)
