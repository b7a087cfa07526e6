"""Noticing what reaches a site past the rule: it would be trained by plain backpropagation, without a word."""

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from widealign.graph.graft import signals
from widealign.graph.sites import Site, input_parameters


class Strays:
    """Looks at the calls of a model's sites in one forward pass, and lists what no rule can follow.

    Args:
        model: The user's.
        points: The modules whose calls a rule takes part in.
    """

    def __init__(self, model: nn.Module, points: Iterable[Site]):
        exempt = input_parameters(model)
        learning = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
        self._names = {identity: name for identity, name in learning.items() if identity not in exempt}
        self._own = {point.name: {id(p) for p in point.module.parameters()} for point in points}
        self._found: dict[str, None] = {}

    def entering(self, site: str, inputs: Any) -> None:
        """Look at a site's inputs, before they are cut."""
        self._look_inside(f"'{site}' takes", inputs)
        for leaf in tree_leaves(inputs):
            name = self._names.get(id(leaf))
            if name is not None and id(leaf) not in self._own[site]:
                self._note(f"'{site}' is given the parameter '{name}' of another module, and learning from it is")

    def leaving(self, site: str, output: Any) -> None:
        """Look at a site's output, whose graph must begin at its inputs and at its own parameters."""
        self._look_inside(f"'{site}' returns", output)
        for name in self._reached(signals(output)) - {self._names.get(i, "") for i in self._own[site]}:
            self._note(f"'{site}' hears of '{name}' past its inputs (through an attribute, say), and what it hears is")

    def returned(self, output: Any) -> None:
        """Look at what the model returns."""
        self._look_inside("the model returns", output)

    def problems(self) -> Iterator[str]:
        """What was found, each with its remedy."""
        yield from self._found

    def _note(self, what: str) -> None:
        remedy = "out of the rule's reach: hand tensors on as arguments, or name the module that holds both in sites="
        self._found[f"{what} {remedy}"] = None

    def _look_inside(self, what: str, tree: Any) -> None:
        for leaf in tree_leaves(tree):
            if any(isinstance(part, Tensor) for part in _parts(leaf)):
                kind = type(leaf).__name__
                self._found[
                    f"{what} an object, {kind}, whose tensors are out of the rule's reach: use tensors, tuples, lists "
                    f"and dicts, or make {kind} known by torch.utils._pytree.register_pytree_node"
                ] = None

    def _reached(self, outputs: list[Tensor]) -> set[str]:
        """Names of the parameters at which the graph behind some tensors begins."""
        nodes = [out.grad_fn for out in outputs if out.grad_fn is not None]
        seen, names = set(nodes), set[str]()
        while nodes:
            node = nodes.pop()
            names |= {self._names[id(v)] for v in [getattr(node, "variable", None)] if id(v) in self._names}
            following = {after for after, _ in node.next_functions if after is not None} - seen
            seen |= following
            nodes += following
        return names


def _parts(leaf: Any) -> Iterator[Any]:
    """The attributes of an object that is neither a tensor nor a module."""
    if isinstance(leaf, Tensor | nn.Module | type):
        return
    yield from getattr(leaf, "__dict__", {}).values()
    yield from (getattr(leaf, slot, None) for slot in getattr(type(leaf), "__slots__", ()))
