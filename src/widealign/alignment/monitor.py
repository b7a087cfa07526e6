"""Alignment and drift of a network while it trains, in the user's own loop."""

import json
import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from widealign.alignment.capture import Taught
from widealign.alignment.companion import Companion, low_precision_is_fast
from widealign.alignment.drifting import drift
from widealign.alignment.layers import angle, cosine, feedback_of, measured, relative_change, site_of
from widealign.alignment.regimes import Regime, regime
from widealign.alignment.scores import score
from widealign.errors import UsageError
from widealign.graph import replay, signals

Record = dict[str, Any]


class AlignmentMonitor:
    """Measures, every few steps, whether weights align with their inputs and how far a network is from the wide regime.

        monitor = AlignmentMonitor(learner, optimizer)
        for x, y in batches:
            loss = widealign.mse(learner(x), y)
            optimizer.zero_grad()
            loss.backward()
            monitor.step(x, y, loss)
            optimizer.step()

    Every `every` steps, for each weight matrix or kernel l (counted from 1): `score` (equation 13) and `weight_change`
    ‖ΔW‖ / ‖W(0)‖. Every `drift_every` steps, which takes passes of its own, also `activity_change` and
    `jacobian_change` of its site, `cosine` of the rule's update with backpropagation's, and `angle` (degrees) between
    the weights and the feedback that stands for them, for rules that have such feedback.

    Args:
        learner: A learner of any rule, or a plain model. Its weights now are W(0).
        optimizer: The one that trains it, for the companion to use the same.
        every: Steps between scores.
        drift_every: Steps between the measures that need passes of their own: the first multiple of `every` at or
            after 50, unless said otherwise; 0 for never.
        log: A file to append JSON lines to, or a function that gets each record.
        writer: A TensorBoard `SummaryWriter`.
        precision: `float32` for a companion computed exactly as the network is; `bfloat16` for one that costs about
            half; `auto` for the latter on hardware that is fast in it. Weights and sums stay in float32.
    """

    def __init__(
        self,
        learner: nn.Module,
        optimizer: Optimizer | None = None,
        *,
        every: int = 50,
        drift_every: int | None = None,
        log: str | Path | Callable[[Record], Any] | None = None,
        writer: Any = None,
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
    ):
        if every < 1:
            raise UsageError(f"every= is a number of steps, 1 or more; it is {every}.")
        low = low_precision_is_fast(learner) if precision == "auto" else precision == "bfloat16"
        self.learner = learner
        self.companion = Companion(learner, optimizer, low_precision=low)
        self.every = every
        self.drift_every = every * math.ceil(50 / every) if drift_every is None else drift_every
        self.layers = measured(self.companion.parameters)
        self.steps = 0
        self.latest: list[Record] = []
        self._log, self._writer = log, writer

    def step(self, x: Any = None, y: Any = None, loss: Tensor | None = None) -> list[Record]:
        """Once for every step of the optimizer, best between `loss.backward()` and `optimizer.step()`.

        Args:
            x: The batch. Not needed: the learner's own call is what counts.
            y: Its targets; not needed either.
            loss: Needed only if `loss.backward()` comes later.

        Returns:
            What was measured now, one record for each layer; empty between measurements.
        """
        taught = self.companion.step(loss)
        self.steps += 1
        if self.steps % self.every:
            return []
        due = self.drift_every > 0 and self.steps % self.drift_every == 0
        self.latest = self._measure(taught if due else None)
        for record in self.latest:
            self._write(record)
        return self.latest

    def regime(self, *args: Any, **kwargs: Any) -> Regime:
        """How far the network is from the wide regime, on a batch."""
        return regime(self.learner, *args, initial=self.companion.initial, **kwargs)

    def close(self) -> None:
        """Take the hooks off the learner."""
        self.companion.close()

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on."""
        return {"steps": self.steps, "companion": self.companion.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.steps = state["steps"]
        self.companion.load_state_dict(state["companion"])

    def _measure(self, taught: list[Taught] | None) -> list[Record]:
        learned, changes = self.companion.learned(), self.companion.changes()
        extra = self._drift(taught) if taught else {}
        records = []
        for layer, name in self.layers.items():
            weight, initial = self.companion.parameters[name], self.companion.initial[name]
            record: Record = {"kind": "alignment", "step": self.steps, "layer": layer, "name": name}
            with warnings.catch_warnings():  # a layer that has not moved yet is nan in the record; once a run is enough
                warnings.simplefilter("ignore" if self.steps > self.every else "default", RuntimeWarning)
                record["score"] = score(learned[name], changes[name], layer=name)
            record["weight_change"] = relative_change(weight, initial)
            records.append({**record, **extra.get(name, {})})
        return records

    def _drift(self, taught: list[Taught]) -> dict[str, Record]:
        given = taught[-1].given
        seeded = torch.Generator().manual_seed(self.steps)
        by_site = drift(self.learner, self.companion.initial, *given.args, generator=seeded, **given.kwargs)
        backprop, feedback = self._backprop(taught), feedback_of(self.learner)
        extra: dict[str, Record] = {}
        for name in self.layers.values():
            site, weight = site_of(name, by_site), self.companion.parameters[name]
            record: Record = {}
            if site is not None:
                record.update(activity_change=by_site[site].activity, jacobian_change=by_site[site].jacobian)
            if weight.grad is not None and name in backprop:
                record["cosine"] = cosine(weight.grad, backprop[name])
            if name in feedback and feedback[name].shape == weight.shape:
                record["angle"] = angle(feedback[name], weight)
            extra[name] = record
        return extra

    def _backprop(self, taught: list[Taught]) -> dict[str, Tensor]:
        """Backpropagation's gradient for the same passes and errors."""
        parameters = self.companion.parameters
        live = {name: p.detach().requires_grad_() for name, p in parameters.items()}
        total: dict[str, Tensor] = {}
        for given, errors in taught:
            with torch.enable_grad(), given.replayed:
                outputs = signals(replay(self.companion.model, live, given.args, given.kwargs))
            pairs = [
                (o, e.to(o))
                for o, e in zip((o for o in outputs if o.requires_grad), errors, strict=True)
                if e is not None
            ]
            outs, es = [o for o, _ in pairs], [e for _, e in pairs]
            found = torch.autograd.grad(outs, list(live.values()), es, allow_unused=True)
            for name, g in zip(live, found, strict=True):
                if g is not None:
                    total[name] = total[name] + g if name in total else g
        return total

    def _write(self, record: Record) -> None:
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}
        if callable(self._log):
            self._log(plain)
        elif self._log is not None:
            with Path(self._log).open("a") as file:
                file.write(json.dumps(plain, allow_nan=False) + "\n")
        if self._writer is not None:
            for key, value in plain.items():
                if isinstance(value, float):
                    self._writer.add_scalar(f"alignment/{record['name']}/{key}", value, self.steps)
