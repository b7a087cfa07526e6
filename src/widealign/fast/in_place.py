"""Align-ada whose update goes straight into the weights: no gradient tensors, no optimizer's pass over them."""

from typing import Any

import torch
from torch import Tensor

from widealign.errors import UsageError
from widealign.fast.by_hand import Output, require_linear, require_own_values, require_rule, scale
from widealign.fast.initial import Remembering, Values, examples
from widealign.fast.inject import signal
from widealign.fast.jacobians import Jacobians
from widealign.fast.rows import Rows


class InPlaceAlignAda:
    """W_l += -η s_l (c h_{l-1})^T as one operation, with s_l from kept Jacobians: Align-ada with plain SGD.

    For models whose sites are linear maps called once each, on examples with numbers. Without momentum: a velocity
    would be the gradient tensor that is saved here.

    Args:
        learner: An `AlignAda`, whose model is trained, with the initial network that it remembers now.
        lr: The learning rate η; may be changed at any time.
        budget: Bytes for the Jacobians.

    Example:
        >>> import widealign
        >>> trainer = InPlaceAlignAda(widealign.AlignAda(widealign.models.mlp(4, [8], 2)), lr=0.1)
        >>> loss = trainer(torch.ones(3, 4), index=torch.arange(3)).square().mean()
        >>> loss.backward()
        >>> trainer.step()
    """

    def __init__(self, learner: Remembering, *, lr: float, budget: int = 2**30):
        require_rule("InPlaceAlignAda", "align-ada", learner)
        require_linear("InPlaceAlignAda", learner.sites)
        self.network, self.lr, self.budget = learner.initial_network(), lr, budget
        self.rows, self.store = Rows(), Jacobians(None, 0)
        self._shapes: dict[str, list[Tensor]] = {}
        self._output, self._seen = Output(), Values()

    def __call__(self, x: Tensor, *, index: Tensor) -> Tensor:
        """The model's output for a batch of training examples; `index` are their numbers."""
        index = index.cpu()
        self._seen = Values(keep_outputs=not self._shapes)
        with torch.no_grad():
            value = self.network.run(self._seen, self.network.model, x)
        if not self._shapes:
            require_own_values("InPlaceAlignAda", self.network, self._seen, x)
            self._shapes = self._seen.outputs
            self.store = Jacobians(None, self.budget // Jacobians.size(self._shapes, [value], None))
        if (self.rows.find(index) < 0).any():
            self._fill(x, index)
        return self._output.give(value, index)

    def step(self) -> None:
        """Updates the weights by the error of the last forward pass."""
        e = self._output.error("step()")
        rows = self.rows.find(self._output.index)
        modules: dict[str, Any] = {site.name: site.module for site in self.network.sites}
        with torch.no_grad():
            for site, jacobians in zip(self._shapes, self.store.kept, strict=True):
                ((h,), _) = self._seen.inputs[site][0]
                s = signal(e, jacobians, rows)
                weight, bias = modules[site].weight, modules[site].bias
                if weight.requires_grad:
                    weight.addmm_(s.T, h, alpha=-self.lr * scale(modules[site]))
                if bias is not None and bias.requires_grad:
                    bias.sub_(s.sum(0), alpha=self.lr)

    def _fill(self, x: Tensor, index: Tensor) -> None:
        places = self.rows.new(index)
        if self.rows.count + len(places) > self.store.most:
            raise UsageError(f"budget={self.budget} bytes hold {self.store.most} examples, and more are visited.")
        part = examples(((x,), {}), len(index), places)
        like = {site: [call[:1].expand(len(places), -1) for call in calls] for site, calls in self._shapes.items()}
        self.store.fill(self.network, like, self.rows.count, len(places), *part)
        self.rows.add(index[places])
