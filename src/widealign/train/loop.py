"""The loop: batches in, events out. Its whole state can be taken after any event, and given to another loop."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from widealign.rules import model_of
from widealign.train.finite import Breakdown, BrokeDown, Watch, layer_of_largest_weight
from widealign.train.trial import Batch, Figures, Trial

_LOOK_EVERY_ON_GPU = 20


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Steps that are done. The first of `losses` is that of step `first`; steps count from 1 over the whole run."""

    epoch: int
    first: int
    losses: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class EpochEnd:
    """An epoch that is done and evaluated, and what the observers say about it."""

    epoch: int
    figures: Figures
    records: tuple[Mapping[str, Any], ...]


class Loop:
    """Trains a `Trial`.

    `train_loss` and `train_acc` of an epoch are means over its mini-batches, each taken before its own update.
    """

    def __init__(self, trial: Trial, *, paused: Callable[[], bool] = lambda: False):
        """Nothing is computed yet.

        Args:
            trial: what to train.
            paused: asked after each step; if true, its event comes at once, so that the caller can save and leave.
        """
        self.trial = trial
        self.paused = paused
        self.epoch = self.step = self.position = 0
        device = next(trial.learner.parameters()).device
        self._look_every = 1 if device.type == "cpu" else _LOOK_EVERY_ON_GPU
        self._watch = Watch(model_of(trial.learner))
        self._order: Tensor | None = None
        self._loss_sum = 0.0
        self._correct = torch.zeros((), dtype=torch.int64, device=device)
        self._labelled = 0

    def run(self) -> Iterator[Steps | EpochEnd]:
        """Train until the last epoch.

        Raises:
            BrokeDown: a loss or a gradient is not finite.
        """
        while self.epoch < self.trial.epochs:
            if self._order is None:
                self._order = self.trial.order().to(self._correct.device)
            yield from self._steps(self._order)
            yield self._finish_epoch()

    @torch.no_grad()
    def conclude(self) -> Figures:
        """Figures of one `epoch` that waited for the end; empty if there are none."""
        self.trial.learner.eval()
        return self.trial.conclude()

    def state_dict(self) -> dict[str, Any]:
        """Position, weights, the rule's and the optimizer's memory, every random stream: tensors and plain values."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "position": self.position,
            "order": self._order,
            "loss_sum": self._loss_sum,
            "correct": int(self._correct),
            "labelled": self._labelled,
            "torch_random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "parts": {name: part.state_dict() for name, part in self._parts().items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken, by this loop or by another of the same trial."""
        device = self._correct.device
        self.epoch, self.step, self.position = state["epoch"], state["step"], state["position"]
        self._order = None if state["order"] is None else state["order"].to(device)
        self._loss_sum, self._labelled = state["loss_sum"], state["labelled"]
        self._correct.fill_(state["correct"])
        torch.set_rng_state(state["torch_random"])
        if torch.cuda.is_available() and state["cuda_random"]:
            torch.cuda.set_rng_state_all(state["cuda_random"])
        for name, part in self._parts().items():
            part.load_state_dict(state["parts"][name])

    def _parts(self) -> dict[str, Any]:
        trial = self.trial
        parts: dict[str, Any] = {"learner": trial.learner, "optimizer": trial.optimizer}
        if trial.schedule is not None:
            parts["schedule"] = trial.schedule
        parts |= {f"stream {name}": stream for name, stream in trial.streams.items()}
        return parts | {f"observer {i}": observer for i, observer in enumerate(trial.observers)}

    def _steps(self, order: Tensor) -> Iterator[Steps]:
        trial = self.trial
        trial.learner.train()
        whole = order[: trial.steps_per_epoch * trial.batch_size]
        for batch in trial.examples.batches(whole, trial.batch_size, epoch=self.epoch + 1, first=self.position):
            self._differentiate(batch)
            last = self.position + 1 == trial.steps_per_epoch
            look = last or len(self._watch) >= self._look_every or self.paused()
            # Before the update, so that on the CPU a breakdown finds the weights that caused it.
            losses = self._watch.drain(batch.inputs, step=self.step + 1, epoch=self.epoch + 1) if look else ()
            self._update()
            if losses:
                self._loss_sum += sum(losses)
                yield Steps(epoch=self.epoch + 1, first=self.step - len(losses) + 1, losses=tuple(losses))

    def _differentiate(self, batch: Batch) -> None:
        trial = self.trial
        trial.optimizer.zero_grad()
        output = trial.forward(batch.inputs)
        loss = trial.loss(output, batch.targets)
        loss.backward()
        self._watch.note(loss)
        if batch.labels is not None:
            self._correct += (output.detach().argmax(1) == batch.labels).sum()
            self._labelled += len(batch.labels)
        for observer in trial.observers:
            observer.before_update(batch, output)

    def _update(self) -> None:
        self.trial.optimizer.step()
        if self.trial.schedule is not None:
            self.trial.schedule.step()
        self.step += 1
        self.position += 1

    def _finish_epoch(self) -> EpochEnd:
        trial = self.trial
        figures: Figures = {
            "train_loss": self._loss_sum / max(self.position, 1),
            "train_acc": int(self._correct) / self._labelled if self._labelled else None,
        }
        trial.learner.eval()
        with torch.no_grad():
            figures |= trial.evaluate()
        if not all(math.isfinite(figure) for figure in figures.values() if figure is not None):
            layer = layer_of_largest_weight(self._watch.model)
            raise BrokeDown(Breakdown(step=self.step, epoch=self.epoch + 1, what="evaluation loss", layer=layer))
        self.epoch += 1
        self.position, self._order, self._loss_sum, self._labelled = 0, None, 0.0, 0
        self._correct.zero_()
        records = tuple(record for observer in trial.observers for record in observer.records(self.epoch))
        return EpochEnd(epoch=self.epoch, figures=figures, records=records)
