"""What the loop trains, and on what. No name of a task, of a rule or of a paper in it: protocols fill it in."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

Figures = dict[str, float | None]


class Batch(NamedTuple):
    """Inputs, the targets of the loss, and class labels where there are classes."""

    inputs: Tensor
    targets: Tensor
    labels: Tensor | None


class Examples(Protocol):
    """Examples that give batches in an order the caller gives."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def batches(self, order: Tensor, batch_size: int, *, epoch: int = 0, first: int = 0) -> Iterator[Batch]:
        """Batches that follow `order`, without the first few of them; the last may be smaller.

        Only randomly transformed images depend on the epoch.
        """
        ...


class Observer(Protocol):
    """Something that watches a run and adds lines to its metrics."""

    def before_update(self, batch: Batch, output: Tensor) -> None:
        """Called after the backward pass of every step, before the optimizer changes the weights."""
        ...

    def records(self, epoch: int) -> Iterable[Mapping[str, Any]]:
        """What to write after this epoch, each with its `kind`."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on: tensors and plain values."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """One network, its rule, its data and what happens to them.

    Attributes:
        learner: the rule around the model; holds all of their state.
        forward: `learner`, perhaps compiled or in lower precision.
        loss: of an output and its targets; a scalar.
        order: draws the order in which one epoch visits the examples.
        evaluate: called after each epoch without gradients. Its figures join the epoch's `train_loss` and `train_acc`,
            and replace them where they have the same name.
        conclude: called once at the end, without gradients, also where training diverged. Figures of one `epoch` that
            were not computed at its time; none by default.
        streams: objects with a `state_dict`, random streams above all.
    """

    learner: nn.Module
    forward: Callable[[Tensor], Tensor]
    loss: Callable[[Tensor, Tensor], Tensor]
    optimizer: Optimizer
    schedule: LRScheduler | None = None
    examples: Examples
    batch_size: int
    epochs: int
    order: Callable[[], Tensor]
    evaluate: Callable[[], Figures]
    streams: Mapping[str, Any]
    observers: Sequence[Observer] = ()
    conclude: Callable[[], Figures] = dict

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches only."""
        return len(self.examples) // self.batch_size
