"""Taking part in the calls of a model's sites, without a trace in the model."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from widealign.errors import UsageError
from widealign.graph.carry import is_known
from widealign.graph.sites import Site
from widealign.graph.strays import Strays


class Pass:
    """One forward pass under a rule: what happens to a site's inputs and to its output."""

    depth = 0
    cuts = False
    """Whether a site's inputs come to it without their graphs."""

    def enter(self, site: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Returns the inputs that the site's module is to be called with."""
        return args, kwargs

    def leave(self, site: str, output: Any) -> Any:
        """Returns what the rest of the model is to see as the site's output."""
        return output

    def ended(self) -> None:
        """Called when the model has returned."""


class Switch:
    """What the hooks on a model's sites look at. Off (None) means that the model is the user's own again.

    The hooks are removed with their owner. A copy of the owner, made with the model, has hooks and a switch of its own.
    """

    current: Pass | None = None
    strays: Strays | None = None

    def install(self, sites: Iterable[Site], owner: object) -> None:
        """Puts the hooks on the sites' modules."""
        handles = []
        for site in sites:
            enter, leave = _Enter(self, site.name), _Leave(self, site.name)
            # Other hooks before the call (pruning, say) are a part of a module that is called a second time.
            first = not is_known(site.module)
            handles.append(site.module.register_forward_pre_hook(enter, with_kwargs=True, prepend=first))
            handles.append(site.module.register_forward_hook(leave, with_kwargs=True))
        weakref.finalize(owner, _remove, handles)

    def run(self, current: Pass, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls `function`, which calls the model, with `current` at the model's sites."""
        self.current = current
        try:
            output = function(*args, **kwargs)
        finally:
            self.current = None
        current.ended()
        return output


class _Enter:
    of_rules = True
    """Unlike hooks of the user's, it does not change what a module computes."""

    def __init__(self, switch: Switch, site: str):
        self.switch, self.site = switch, site

    def __call__(self, module: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        current = self.switch.current
        if current is None:
            return None
        if current.depth:
            raise UsageError(
                f"'{self.site}' is called while a site is running (itself or another), so their errors cannot be told "
                "apart: name the module that holds both in sites="
            )
        current.depth += 1
        if self.switch.strays is not None and current.cuts:
            self.switch.strays.entering(self.site, (args, kwargs))
        return current.enter(self.site, args, kwargs)


class _Leave(_Enter):
    def __call__(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        current = self.switch.current
        if current is None:
            return None
        current.depth -= 1
        if self.switch.strays is not None and current.cuts:
            self.switch.strays.leaving(self.site, output)
        return current.leave(self.site, output)


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
