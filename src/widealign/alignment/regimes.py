"""How far a network is from the wide regime, as one table with words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from widealign.alignment.directions import update_cosines
from widealign.alignment.drifting import drift
from widealign.alignment.layers import angle, feedback_of, initial_of, measured, relative_change, site_of
from widealign.errors import UsageError
from widealign.rules import learner_of, model_of

_WORDS = (
    (0.0, "as at the start"),
    (0.01, "wide: as good as its linearization"),
    (0.1, "nearly wide: small corrections"),
    (0.5, "between: features move"),
)
_RICH = "rich: features are learned"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One layer: relative changes since the beginning, and what the largest of activity and Jacobian means.

    Attributes:
        layer: Number from 1.
        name: Of the weight.
        weight: ‖ΔW‖ / ‖W(0)‖.
        activity: Relative change of what enters the layer.
        jacobian: Relative change of the output's derivative by what leaves it.
        cosine: Of the rule's update with backpropagation's, for a random error at the output; None for a plain model.
        angle: Degrees between the weight and the feedback that stands for it; None where none does.
    """

    layer: int
    name: str
    weight: float
    activity: float
    jacobian: float
    cosine: float | None = None
    angle: float | None = None

    @property
    def words(self) -> str:
        """The regime in words. Weights alone do not decide: in the wide regime they move, activations do not."""
        return in_words(max(self.activity, self.jacobian))


@dataclass(frozen=True, kw_only=True, repr=False)
class Regime:
    """The table."""

    rows: tuple[Row, ...]

    @property
    def words(self) -> str:
        """The regime of the layer that is farthest from the wide one."""
        return in_words(max(max(row.activity, row.jacobian) for row in self.rows))

    def __str__(self) -> str:
        width = max(len("layer"), *(len(row.name) for row in self.rows)) + 4
        heads = ("weights", "activity", "Jacobian", "cosine", "angle")
        lines = [f"{'layer':<{width}} {' '.join(f'{head:>9}' for head in heads)}  regime"]
        lines += [
            f"{row.layer:>2}  {row.name:<{width - 4}} {_share(row.weight)} {_share(row.activity)} "
            f"{_share(row.jacobian)} {_or_dash(row.cosine, '.3f')} {_or_dash(row.angle, '.1f', '°')}  {row.words}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"the network: {self.words}"])

    __repr__ = __str__


def regime(learner: nn.Module, *args: Any, initial: Mapping[str, Tensor] | None = None, **kwargs: Any) -> Regime:
    """Relative changes of weights, activations and Jacobian since the beginning, by layer, with words; prints them.

    Beside them stand the cosine of the rule's update with backpropagation's, for a random error at the output, and the
    angle between weights and feedback. The beginning is that which the learner remembers: its latest snapshot.

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
        >>> regime(AlignAda(mlp(4, [64], 2)), torch.randn(8, 4)).words  # doctest: +ELLIPSIS
        layer ...weights...
        ...
        the network: as at the start
        'as at the start'
    """
    found = measure_regime(learner, *args, initial=initial, **kwargs)
    print(found)
    return found


def measure_regime(
    learner: nn.Module, *args: Any, initial: Mapping[str, Tensor] | None = None, **kwargs: Any
) -> Regime:
    """`regime`, without printing."""
    model = model_of(learner)
    if initial is None:
        initial = initial_of(learner)
        if initial is None:
            raise UsageError(
                f"regime() compares with the initial weights, which {type(learner_of(learner)).__name__} does not "
                "remember: give initial=, a copy of model.state_dict() from before training, or use "
                "AlignmentMonitor.regime(x)."
            )
    parameters = dict(model.named_parameters())
    begin = {name: initial[name].detach() for name in parameters if name in initial}
    by_site = drift(learner, begin, *args, generator=torch.Generator().manual_seed(0), **kwargs)
    feedback, cosines = feedback_of(learner), update_cosines(learner, *args, **kwargs)
    rows = []
    for layer, name in measured({n: parameters[n] for n in begin}).items():
        site = site_of(name, by_site)
        if site is not None:
            weight = relative_change(parameters[name], begin[name])
            changed = by_site[site]
            own = angle(feedback[name], parameters[name]) if name in feedback else None
            rows.append(
                Row(layer=layer, name=name, weight=weight, activity=changed.activity, jacobian=changed.jacobian,
                    cosine=cosines.get(name), angle=own)
            )  # fmt: skip
    if not rows:
        raise UsageError("regime() needs a model with a weight matrix or a kernel; this one has none that is called.")
    return Regime(rows=tuple(rows))


def in_words(change: float) -> str:
    """What a relative change says about the regime.

    Example:
        >>> in_words(0.05)
        'nearly wide: small corrections'
    """
    if math.isnan(change):
        return "unknown: not finite"
    return next((words for limit, words in _WORDS if change <= limit), _RICH)


def _or_dash(value: float | None, form: str, unit: str = "") -> str:
    return f"{'–' if value is None else format(value, form) + unit:>9}"


def _share(value: float) -> str:
    return f"{100 * value:8.2f}%"
