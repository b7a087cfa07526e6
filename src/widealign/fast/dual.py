"""Align-zero as a sum over examples: W(t) is never updated, and no weight gradient is computed.

Every update of Align-zero is s h_{l-1}(θ0)^T, with s = J_l(θ0)^T e and both factors those of a training example. So

    W_l(t) - W_l(0) = Σ_i u_i h_i^T       u_i: what example i's signals have added up to,  h_i = c h_{l-1}(θ0; x_i)

    z_l(t) = c W_l(0) h + b_l + Σ_i u_i (h_i · c h)

For n examples and width m a step costs (1 + 2n/m) forward passes in the place of backprop's three.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.fast.by_hand import Output, require_linear, require_own_values, require_rule, scale
from widealign.fast.initial import InitialNetwork, Remembering, Values, probes_for, taps
from widealign.fast.inject import signal
from widealign.fast.jacobians import jacobians
from widealign.fast.surrogates import replaced
from widealign.graph import Switch, signals


class DualAlignZero:
    """Align-zero with SGD (and momentum) on a small data set, in terms of its examples.

    The trajectory is that of `AlignZero` with `torch.optim.SGD`, to rounding. The model's weights stay where they are
    until `materialise()` writes them.

    Args:
        learner: An `AlignZero` at its initial weights, on a model whose sites are linear maps called once each.
        inputs: All training examples, in the order of their numbers.
        lr: The learning rate; may be changed at any time.
        momentum: As in `torch.optim.SGD`.

    Example:
        >>> import widealign
        >>> dual = DualAlignZero(widealign.AlignZero(widealign.models.mlp(4, [8], 2)), torch.ones(5, 4), lr=0.1)
        >>> loss = dual(index=torch.arange(3)).square().mean()
        >>> loss.backward()
        >>> dual.step()
        >>> model = dual.materialise()
    """

    def __init__(self, learner: Remembering, inputs: Tensor, *, lr: float, momentum: float = 0.0):
        require_rule("DualAlignZero", "align-zero", learner)
        require_linear("DualAlignZero", learner.sites)
        self.learner, self.inputs, self.lr, self.momentum = learner, inputs, lr, momentum
        self._output = Output()
        switch = Switch()
        switch.install(learner.sites, owner=self)
        self._prepare(replace(learner.initial_network(), run=switch.run))

    def _prepare(self, network: InitialNetwork) -> None:
        now = dict(self.learner.model.named_parameters())
        if moved := [name for name, start in network.weights.items() if not torch.equal(start, now[name])]:
            raise UsageError(f"DualAlignZero starts at the initial weights; these have moved: {', '.join(moved)}.")
        seen = Values()
        with torch.enable_grad():
            network.run(seen, network.model, self.inputs)
        require_own_values("DualAlignZero", network, seen, self.inputs)
        with torch.enable_grad():
            probes = probes_for(seen.outputs)
            outputs = signals(network.at(network.listening(probes), (self.inputs,), {}))
        modules = {site.name: site.module for site in self.learner.sites}
        found = zip(seen.outputs, jacobians(outputs, taps(probes)), strict=True)
        self.sums = {}
        for name, kept in found:
            (h,), _ = seen.inputs[name][0]
            self.sums[name] = _Sum(modules[name], h, seen.outputs[name][0], kept, first=name not in seen.downstream)

    def __call__(self, x: Tensor | None = None, *, index: Tensor | None = None) -> Tensor:
        """The network's output: for training examples by `index`, which can learn, or for any `x`, which cannot."""
        if (x is None) == (index is None):
            raise UsageError("Give index=, the numbers of training examples, or x, other examples; not both.")
        rows = None if index is None else index.to(self.inputs.device)
        given = x if rows is None else self.inputs[rows]
        forwards = {total.module: partial(total.forward, rows) for total in self.sums.values()}
        with torch.no_grad(), replaced(forwards):
            value = self.learner.model(given)
        return value if rows is None else self._output.give(value, rows)

    def step(self) -> None:
        """Adds the signals of the last forward pass to the sums of its examples."""
        e, rows = self._output.error("step()"), self._output.index
        for total in self.sums.values():
            total.add(signal(e, total.jacobians, rows), rows, self.lr, self.momentum)

    def materialise(self) -> nn.Module:
        """Writes the weights into the model, and returns it. Training can go on."""
        with torch.no_grad():
            for total in self.sums.values():
                total.write()
        return self.learner.model


class _Sum:
    """One linear site: u_i and h_i of every training example."""

    def __init__(self, module: Any, h: Tensor, z: Tensor, jacobians: Tensor, first: bool):
        self.module, self.jacobians, self.c = module, jacobians, scale(module)
        self.weight, self.bias = module.weight.detach().clone(), _copy(module.bias)
        self.h, self.u = h * self.c, torch.zeros_like(z)
        self.velocity: Tensor | None = None
        self.bias_velocity: Tensor | None = None
        # A site that takes the training examples themselves: its initial z and all their products are known.
        self.known = (z - self.bias if self.bias is not None else z, self.h @ self.h.T) if first else None

    def forward(self, rows: Tensor | None, h: Tensor) -> Tensor:
        """Gives z for the activity `h` of this network, that of the training examples `rows` if they are given."""
        if self.known is not None and rows is not None:
            z, kernel = (part.index_select(0, rows) for part in self.known)
            z = z if self.bias is None else z.add_(self.bias)
            return z.addmm_(kernel, self.u)
        h = h * self.c
        return nn.functional.linear(h, self.weight, self.bias).addmm_(h @ self.h.T, self.u)

    def add(self, s: Tensor, rows: Tensor, lr: float, momentum: float) -> None:
        """u_i -= η s_i and b -= η Σ s_i; with momentum, by velocities."""
        if self.module.weight.requires_grad and not momentum:
            self.u.index_add_(0, rows, s, alpha=-lr)
        elif self.module.weight.requires_grad:
            self.velocity = torch.zeros_like(self.u) if self.velocity is None else self.velocity.mul_(momentum)
            self.u.sub_(self.velocity.index_add_(0, rows, s), alpha=lr)
        if self.bias is not None and self.module.bias.requires_grad:
            before = torch.zeros_like(self.bias) if self.bias_velocity is None else self.bias_velocity
            self.bias_velocity = before.mul_(momentum).add_(s.sum(0))
            self.bias.sub_(self.bias_velocity, alpha=lr)

    def write(self) -> None:
        """W = W(0) + Σ_i u_i h_i^T."""
        torch.addmm(self.weight, self.u.T, self.h, out=self.module.weight.data)
        if self.bias is not None:
            self.module.bias.copy_(self.bias)


def _copy(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.detach().clone()
