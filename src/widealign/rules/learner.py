"""The learner: a learning rule wrapped around the user's model. All rules share this file; none is described in it."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from widealign.errors import RefusedModel, UsageError
from widealign.graph import (
    OutsideUse,
    Pass,
    Replayed,
    Site,
    Sites,
    Strays,
    Switch,
    copied,
    find_sites,
    fingerprint,
    problems,
    refuse_backward,
    same_state,
    signals,
    state,
    warn_if_changed,
)

REGISTRY: dict[str, type["Learner"]] = {}


class Axes(NamedTuple):
    """The four choices that make a rule."""

    feedback: str
    gate: str
    normaliser: str
    activity: str


class Learner(nn.Module, ABC):
    """A model that learns by a rule: `learner(x)` has the model's values, its gradients are the rule's.

    Subclasses name themselves: `class MyRule(Chained, id="my-rule")` is in the registry from then on.

    Args:
        model: Any module. It stays usable by itself, and then is an ordinary model.
        sites: Where parameters learn; see `find_sites`.
    """

    id: ClassVar[str]
    axes: ClassVar[Axes]
    hooked = True

    def __init_subclass__(cls, id: str | None = None, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if id is not None:
            cls.id = id
            REGISTRY[id] = cls

    def __init__(self, model: nn.Module, *, sites: Sites = None):
        super().__init__()
        self.model = model
        self.sites, self._sites_chosen = find_sites(model, sites), sites is not None
        if found := list(self.problems()):
            raise RefusedModel(type(self).__name__, found)
        self._switch = Switch()
        self._inspected = False
        self._learning: list[tuple[int, bool]] = []
        self.register_buffer("_made_with", fingerprint(model), persistent=False)
        self._resumed = False
        self.register_load_state_dict_post_hook(_note_resumption)
        self._changes_inputs = self._changes_state = True
        self._replays = self.replays()
        if self.hooked:
            self._switch.install(self.hook_points(), owner=self)

    def problems(self) -> Iterator[str]:
        """Reasons why this rule would train the model wrongly."""
        yield from problems(self.model, self.sites, chosen=self._sites_chosen)
        for name, module in self.model.named_modules():
            if isinstance(module, Learner):
                yield (
                    f"'{name or 'the model'}' is a learner already ({type(module).__name__}), and two rules cannot "
                    "share a site: wrap its .model"
                )

    def problems_of(self, output: Any) -> Iterator[str]:
        """Reasons why errors at the model's output would teach the model wrongly."""
        yield from ()

    def hook_points(self) -> tuple[Site, ...]:
        """The modules whose calls the rule takes part in."""
        return self.sites

    @abstractmethod
    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """A training forward pass: the live model's output, with the rule behind it."""

    @abstractmethod
    def describe(self, site: Site) -> tuple[str, str]:
        """In words: where the site's feedback comes from, and which activity it learns from."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The model's output. In training mode its gradient graph is the rule's."""
        if not torch.is_grad_enabled():
            return self.model(*args, **kwargs)
        if not self.training:
            return self._evaluate(*args, **kwargs)
        if not self._inspected or self._has_changed():
            return self._first(*args, **kwargs)
        # The random state cannot be put back in the midst of compiled code.
        whole = torch.compiler.is_compiling() and self._changes_state and self._replays
        return self._uncompiled(*args, **kwargs) if whole else self.learn(*args, **kwargs)

    def will_learn(self) -> bool:
        """Whether a forward pass now is a training pass."""
        return self.training and torch.is_grad_enabled()

    def run(self, current: Pass, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls `function`, which calls the model, with `current` at the model's sites."""
        return self._switch.run(current, function, *args, **kwargs)

    def replayed(self) -> AbstractContextManager[None]:
        """To be made before the live pass and entered around a second one, which then draws the same random numbers."""
        return nullcontext() if torch.compiler.is_compiling() else Replayed(self.model)

    def replays(self) -> bool:
        """Whether a training pass calls a module twice that may draw random numbers, or read what it writes."""
        return True

    def kept(self, tree: Any) -> Any:
        """The inputs of a second pass: copies, if the model changes its inputs in place."""
        return copied(tree) if self._changes_inputs else tree

    @torch.compiler.disable
    def _first(self, *args: Any, **kwargs: Any) -> Any:
        """The first training pass also looks at what cannot be seen before: how the model uses what it is given."""
        if self._inspected and (found := list(self.problems())):
            raise RefusedModel(type(self).__name__, found)
        if not self._resumed and not self._inspected:
            warn_if_changed(self.model, self._made_with, type(self).__name__)
        before = _versions((args, kwargs)), state(self.model)
        switch, strays = self._switch, Strays(self.model, self.hook_points())
        switch.strays = strays
        try:
            with OutsideUse(self.model, inside=lambda: switch.current is None or switch.current.depth > 0) as watch:
                output = self.learn(*args, **kwargs)
        finally:
            switch.strays = None
        strays.returned(output)
        if found := [*watch.problems(), *strays.problems(), *self.problems_of(output)]:
            raise RefusedModel(type(self).__name__, found)
        if not any(leaf.requires_grad for leaf in signals(output)):
            raise UsageError(
                f"{type(self).__name__} needs an output that is a tensor, or a tuple, list or dict of tensors, and "
                f"that depends on a learning site; forward() returned {_kinds(output)}."
            )
        self._changes_inputs = _versions((args, kwargs)) != before[0]
        self._changes_state = not same_state(state(self.model), before[1])
        self._inspected = True
        self._learning = self._learning_now()
        return output

    def _learning_now(self) -> list[tuple[int, bool]]:
        return [(id(p), p.requires_grad) for p in self.model.parameters()]

    def _has_changed(self) -> bool:
        """Whether parameters were exchanged, added, frozen or thawed since the model was last looked at."""
        if torch.compiler.is_compiling() or self._learning == self._learning_now():
            return False
        modules = dict(self.model.named_modules())
        if gone := [site.name for site in self.sites if modules.get(site.name) is not site.module]:
            raise UsageError(
                f"The model has other modules than when {type(self).__name__} was wrapped around it ({gone} were "
                "exchanged): wrap it anew."
            )
        return True

    @torch.compiler.disable
    def _uncompiled(self, *args: Any, **kwargs: Any) -> Any:
        return self.learn(*args, **kwargs)

    def _evaluate(self, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            output = self.model(*args, **kwargs)
        anchor = next(self.model.parameters()).detach().requires_grad_()
        reason = (
            f"backward() was called on the output of {type(self).__name__} in eval mode, where it does not learn: call "
            "learner.train() to train, or use learner.model for ordinary gradients."
        )
        return refuse_backward(output, anchor, reason)


def _note_resumption(learner: nn.Module, incompatible: Any) -> None:
    learner._resumed = True  # pyrefly: ignore


def _versions(tree: Any) -> list[Any]:
    """What changes when a tensor among the leaves is changed in place, or when leaves come or go."""
    return [leaf._version if isinstance(leaf, Tensor) else None for leaf in tree_leaves(tree)]


def _kinds(output: Any) -> str:
    return ", ".join(sorted({type(leaf).__name__ for leaf in tree_leaves(output)})) or "empty"


def options(rule: type[Learner]) -> list[str]:
    """The names of a rule's options."""
    names = [
        name
        for cls in rule.__mro__
        if "__init__" in vars(cls) and issubclass(cls, Learner)
        for name, p in inspect.signature(cls.__init__).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    ]
    return list(dict.fromkeys(names))
