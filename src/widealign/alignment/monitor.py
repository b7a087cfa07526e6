"""Alignment and drift of a network while it trains, in the user's own loop."""

import json
import math
import warnings
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from widealign.alignment.capture import Taught
from widealign.alignment.companion import Companion, fast_half
from widealign.alignment.directions import backprop_gradients
from widealign.alignment.drifting import drift
from widealign.alignment.layers import angle, as_rows, cosine, feedback_of, groups_of, measured, owner_of, site_of
from widealign.alignment.regimes import Regime, measure_regime
from widealign.alignment.scores import score, score_sketched
from widealign.errors import UsageError

Record = dict[str, Any]
Precision = Literal["auto", "float32", "float16", "bfloat16"]

_EXACT_UP_TO = 2**24


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
    ‖ΔW‖ / ‖W(0)‖; weights too large for it (in every step, from about 256 × 256) get `score_sketched`.
    Every `drift_every` steps, which takes passes of its own, also `activity_change` and
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
        precision: `float32` for a companion computed exactly as the network is; `float16` or `bfloat16` for one that
            costs about half. `auto`: float16 where the hardware is fast in it, else bfloat16 where it is fast in that
            and the network has a width of 32 or more, for descent with or without momentum;
            adaptive optimizers magnify rounding, and get float32. Weights and sums stay in float32. It is in the log.
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
        precision: Precision = "auto",
    ):
        if every < 1:
            raise UsageError(f"every= is a number of steps, 1 or more; it is {every}.")
        self.learner = learner
        self.companion = Companion(learner, optimizer, half=_half(precision, learner, optimizer))
        self.every = every
        self.drift_every = every * math.ceil(50 / every) if drift_every is None else drift_every
        self.layers = measured(self.companion.parameters)
        self._sizes = self._norms()
        self.steps = 0
        self.latest: list[Record] = []
        self._log, self._writer = log, writer
        self._due: Callable[[], dict[str, Record]] | None = None
        self._expect()
        self._unhook = _after_updates(self, optimizer)

    def step(self, x: Any = None, y: Any = None, loss: Tensor | None = None, *, scale: float = 1.0) -> list[Record]:
        """Once for every step of the optimizer, after `loss.backward()`: before or after `optimizer.step()`.

        What is measured is always the state after as many updates of the network as of its companion. So where the
        optimizer's own step is still to come, the measurement happens at its end (or, if the monitor does not know the
        optimizer, at the beginning of the next call), and is found in `latest` and in the log.

        Args:
            x: The batch. Not needed: the learner's own call is what counts.
            y: Its targets; not needed either.
            loss: Needed only if `loss.backward()` comes later.
            scale: `scaler.get_scale()`, where a gradient scaler has multiplied the loss.

        Returns:
            What was measured in this call, one record for each layer; empty if nothing was.
        """
        late = self.measure_due()
        pending = None if self.companion.capture.arrived else loss
        taught = self.companion.step(loss, scale=scale)
        self.steps += 1
        if self.steps % self.every == 0:
            self._due = self._drift(taught, pending) if self._drifts(self.steps) else dict
        self._expect()
        return self.measure_due() if self.companion.capture.updated else late

    def _drifts(self, step: int) -> bool:
        return self.drift_every > 0 and step % self.drift_every == 0 and step % self.every == 0

    def _expect(self) -> None:
        """The next pass's weights are kept where backpropagation at them is asked for: they may have moved by then."""
        self.companion.capture.keeping = self.companion.parameters if self._drifts(self.steps + 1) else None

    def measure_due(self) -> list[Record]:
        """Measure now, if a measurement is due."""
        if self._due is None:
            return []
        extra, self._due = self._due(), None
        self.latest = self._measure(extra)
        for record in self.latest:
            self._write(record)
        return self.latest

    def regime(self, *args: Any, **kwargs: Any) -> Regime:
        """How far the network is from the wide regime, on a batch."""
        return measure_regime(self.learner, *args, initial=self.companion.initial, **kwargs)

    def close(self) -> None:
        """Measure what is still due, and take the hooks off the learner and the optimizer."""
        self.measure_due()
        self.companion.close()
        self._unhook()

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on."""
        return {"steps": self.steps, "companion": self.companion.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.steps = state["steps"]
        self.companion.load_state_dict(state["companion"])
        self._sizes = self._norms()
        self._expect()

    def _norms(self) -> dict[str, float]:
        return {name: self.companion.initial[name].norm().item() for name in self.layers.values()}

    def _measure(self, extra: dict[str, Record]) -> list[Record]:
        records = []
        for layer, name in self.layers.items():
            learned, change = self.companion.pair(name)
            record: Record = {"kind": "alignment", "step": self.steps, "layer": layer, "name": name}
            record["precision"] = self.companion.precision
            with warnings.catch_warnings():  # a layer that has not moved yet is nan in the record; once a run is enough
                warnings.simplefilter("ignore" if self.steps > self.every else "default", RuntimeWarning)
                record["score"] = self._score(name, learned, change)
            size = self._sizes[name]
            record["weight_change"] = learned.norm().item() / size if size > 0 else math.nan
            records.append({**record, **extra.get(name, {})})
        return records

    def _score(self, name: str, learned: Tensor, change: Tensor) -> float:
        module = owner_of(name, self.companion.model)
        groups, rows = groups_of(module), [as_rows(delta, module) for delta in (learned, change)]
        if not all(delta.isfinite().all() for delta in rows):
            warnings.warn(f"The weights of layer '{name}' are not finite: training has diverged.", RuntimeWarning,
                          stacklevel=3)  # fmt: skip
            return math.nan
        if groups > 1 or _cost(rows[0]) <= _EXACT_UP_TO * self.every:
            return score(*rows, groups=groups, layer=name)
        return score_sketched(*rows, layer=name)

    def _drift(self, taught: list[Taught], pending: Tensor | None) -> Callable[[], dict[str, Record]]:
        """What needs passes of its own: directions of updates now, at these gradients; changes when it is called."""
        given, backprop = taught[-1].given, backprop_gradients(self.companion.model, self.companion.parameters, taught)
        gradients = self._gradients(pending)
        cosines = {n: cosine(g, backprop[n]) for n, g in gradients.items() if g is not None and n in backprop}

        def measure() -> dict[str, Record]:
            seeded = torch.Generator().manual_seed(self.steps)
            by_site = drift(self.learner, self.companion.initial, *given.args, generator=seeded, **given.kwargs)
            feedback = feedback_of(self.learner)
            extra: dict[str, Record] = {}
            for name in self.layers.values():
                site, weight = site_of(name, by_site), self.companion.parameters[name]
                record: Record = {"cosine": cosines[name]} if name in cosines else {}
                if site is not None:
                    record.update(activity_change=by_site[site].activity, jacobian_change=by_site[site].jacobian)
                if name in feedback and feedback[name].shape == weight.shape:
                    record["angle"] = angle(feedback[name], weight)
                extra[name] = record
            return extra

        return measure

    def _gradients(self, pending: Tensor | None) -> dict[str, Tensor | None]:
        """The rule's: of the loss that is still to be differentiated, or those that lie on the parameters."""
        parameters = {name: self.companion.parameters[name] for name in self.layers.values()}
        if pending is None:
            return {name: p.grad for name, p in parameters.items()}
        found = torch.autograd.grad(pending, list(parameters.values()), retain_graph=True, allow_unused=True)
        return dict(zip(parameters, found, strict=True))

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


def _half(precision: Precision, learner: nn.Module, optimizer: Optimizer | None) -> torch.dtype | None:
    known: dict[str, torch.dtype | None] = {"float32": None, "float16": torch.float16, "bfloat16": torch.bfloat16}
    if precision == "auto":
        return fast_half(learner) if optimizer is None or isinstance(optimizer, torch.optim.SGD) else None
    if precision not in known:
        raise UsageError(f"precision= is one of {['auto', *known]}; it is {precision!r}.")
    return known[precision]


def _cost(weight: Tensor) -> int:
    """Multiplications of the exact score, up to a factor."""
    out, fan_in = weight.shape
    return out * fan_in * min(out, fan_in)


def _after_updates(monitor: AlignmentMonitor, optimizer: Optimizer | None) -> Callable[[], Any]:
    """Tells the monitor, without keeping it alive, when the optimizer has updated the network."""
    weak = weakref.ref(monitor)

    def hook(*_: Any) -> None:
        alive = weak()
        if alive is not None:
            alive.companion.capture.updated = True
            alive.measure_due()

    handle = optimizer.register_step_post_hook(hook) if optimizer is not None else None
    return weakref.finalize(monitor, handle.remove) if handle is not None else lambda: None
