"""How far a network is from the wide regime, as one table with words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from widealign.alignment.drifting import drift
from widealign.alignment.layers import measured, relative_change, site_of
from widealign.errors import UsageError
from widealign.graph import Snapshot

_WORDS = (
    (0.0, "as at the start"),
    (0.01, "wide: as good as its linearization"),
    (0.1, "nearly wide: small corrections"),
    (0.5, "between: features move"),
)
_RICH = "rich: features are learned"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One layer: relative changes since the beginning, and what the largest of activity and Jacobian means."""

    layer: int
    name: str
    weight: float
    activity: float
    jacobian: float

    @property
    def words(self) -> str:
        """The regime in words. Weights alone do not decide: in the wide regime they move, activations do not."""
        return in_words(max(self.activity, self.jacobian))


@dataclass(frozen=True, kw_only=True)
class Regime:
    """The table; `print` it."""

    rows: tuple[Row, ...]

    @property
    def words(self) -> str:
        """The regime of the layer that is farthest from the wide one."""
        return in_words(max(max(row.activity, row.jacobian) for row in self.rows))

    def __str__(self) -> str:
        width = max(len("layer"), *(len(row.name) for row in self.rows)) + 4
        lines = [f"{'layer':<{width}} {'weights':>9} {'activity':>9} {'Jacobian':>9}  regime"]
        lines += [
            f"{row.layer:>2}  {row.name:<{width - 4}} {_share(row.weight)} {_share(row.activity)} "
            f"{_share(row.jacobian)}  {row.words}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"the network: {self.words}"])


def regime(learner: nn.Module, *args: Any, initial: Mapping[str, Tensor] | None = None, **kwargs: Any) -> Regime:
    """Relative changes of weights, activations and Jacobian since the beginning, layer by layer, with words.

    In the wide limit the relative changes of activations and Jacobian vanish like 1/sqrt(width); the network then is
    its linearization, and the Align rules follow backpropagation.

    Args:
        learner: A learner. Align rules remember their initial weights; for others give `initial`.
        args: A batch, as the model is called.
        initial: Initial parameters by name, such as `model.state_dict()` taken (and cloned) before training.
        kwargs: Further inputs of the model.

    Example:
        >>> from widealign import AlignAda
        >>> from widealign.models import mlp
        >>> print(regime(AlignAda(mlp(4, [64], 2)), torch.randn(8, 4)).words)
        as at the start
    """
    model: nn.Module = getattr(learner, "model", learner)
    if initial is None:
        snapshot = getattr(learner, "initial", None)
        if not isinstance(snapshot, Snapshot):
            raise UsageError(
                f"regime() compares with the initial weights, which {type(learner).__name__} does not remember: give "
                "initial=, a copy of model.state_dict() from before training, or use AlignmentMonitor.regime(x)."
            )
        initial = snapshot.values()
    parameters = dict(model.named_parameters())
    begin = {name: initial[name].detach() for name in parameters if name in initial}
    by_site = drift(learner, begin, *args, generator=torch.Generator().manual_seed(0), **kwargs)
    rows = []
    for layer, name in measured({n: parameters[n] for n in begin}).items():
        site = site_of(name, by_site)
        if site is not None:
            weight = relative_change(parameters[name], begin[name])
            changed = by_site[site]
            rows.append(
                Row(layer=layer, name=name, weight=weight, activity=changed.activity, jacobian=changed.jacobian)
            )
    return Regime(rows=tuple(rows))


def in_words(change: float) -> str:
    """What a relative change says about the regime.

    Example:
        >>> in_words(0.05)
        'nearly wide: small corrections'
    """
    return next((words for limit, words in _WORDS if change <= limit), _RICH)


def _share(value: float) -> str:
    return f"{100 * value:8.2f}%"
