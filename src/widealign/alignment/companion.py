"""Companion weights W* (equation 16): what the initial network would have learned from the live network's errors."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_map

from widealign.alignment.capture import Capture, Taught
from widealign.alignment.follower import Follower
from widealign.errors import UsageError
from widealign.graph import input_parameters, replay, signals
from widealign.rules import model_of

_MIDDLE = 16.0
_WIDE = 32


class Companion:
    """W* starts at W(0) and follows the Align-zero update, driven by the error of the network that is being trained.

        ΔW*_l  -=  η s_l h_{l-1}(0)^T,     s_l = J_l(0)^T e,     e = ∂L/∂f at the *live* network

    One forward pass of the frozen initial network and one backward pass to its weights a step, with the same
    mini-batch, dropout masks and optimizer as the live network; biases too. Running statistics are left alone.

    Args:
        learner: A learner of any rule, or a plain model that is trained by backpropagation. Its weights now are W(0).
        optimizer: The one that trains it. Without one: plain descent; the score does not depend on its
            constant rate.
        half: Compute the frozen passes in this type, `torch.float16` or `torch.bfloat16`. Weights and sums stay in
            float32. A pass that leaves the range of the type is repeated in float32.

    Example:
        >>> model = nn.Linear(3, 2)
        >>> companion = Companion(model)
        >>> model(torch.randn(5, 3)).square().mean().backward()
        >>> _ = companion.step()
        >>> sorted(companion.changes())
        ['bias', 'weight']
    """

    def __init__(self, learner: nn.Module, optimizer: Optimizer | None = None, *, half: torch.dtype | None = None):
        self.model = model_of(learner)
        exempt = input_parameters(self.model)
        self.parameters = {
            name: p for name, p in self.model.named_parameters() if p.requires_grad and id(p) not in exempt
        }
        if not self.parameters:
            raise UsageError("A companion needs a model with parameters that learn; this one has none.")
        self.half = half
        self.initial = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._leaves = self._frozen()
        self.weights = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._follower = Follower(optimizer, self.parameters, self.weights)
        self.capture = Capture(learner)

    def step(self, loss: Tensor | None = None, *, scale: float = 1.0) -> list[Taught]:
        """Follow what the learner has been taught since the last step. Call it once for every step of the optimizer.

        Where an error is not finite nothing is followed: a gradient scaler leaves such a step out, too.

        Args:
            loss: Needed only where `loss.backward()` has not been called yet.
            scale: What the loss was multiplied by before its backward pass, `scaler.get_scale()` of a gradient scaler.

        Returns:
            The passes and errors that were followed.
        """
        taught = self.capture.take(loss)
        if not taught:
            raise UsageError(
                "The companion has seen no backward pass since its last step: call learner(x) in training mode and "
                "loss.backward() first, or give step() the loss before its backward pass."
            )
        if not all(e.isfinite().all() for one in taught for e in one.errors if e is not None):
            return taught
        for one in taught:
            self._accumulate(one)
        if scale != 1:
            for weight in self.weights.values():
                weight.grad = None if weight.grad is None else weight.grad / scale
        self._follower.step()
        self._follower.optimizer.zero_grad()
        return taught

    def changes(self) -> dict[str, Tensor]:
        """ΔW* = W* - W(0) of every parameter, by name."""
        return {name: weight - self.initial[name] for name, weight in self.weights.items()}

    def learned(self) -> dict[str, Tensor]:
        """ΔW = W(t) - W(0) of every parameter, by name."""
        return {name: p.detach() - self.initial[name] for name, p in self.parameters.items()}

    def pair(self, name: str) -> tuple[Tensor, Tensor]:
        """ΔW and ΔW* of one parameter."""
        initial = self.initial[name]
        return self.parameters[name].detach() - initial, self.weights[name] - initial

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The initial network's output, with a gradient graph to its own copy of the initial weights."""
        if self.half is None:
            return replay(self.model, self._leaves, args, kwargs)
        args, kwargs = tree_map(_channels_last, (args, kwargs))
        device = next(iter(self.initial.values())).device.type
        with torch.autocast(device, self.half):
            return replay(self.model, self._leaves, args, kwargs)

    @property
    def precision(self) -> str:
        """The type of the frozen passes."""
        return str(self.half or next(iter(self.initial.values())).dtype).removeprefix("torch.")

    def close(self) -> None:
        """Take the hooks off the learner."""
        self.capture.close()

    def state_dict(self) -> dict[str, Any]:
        """W(0), W* and the optimizer's state: tensors and plain values only."""
        initial = {name: tensor.clone() for name, tensor in self.initial.items()}
        weights = {name: tensor.clone() for name, tensor in self.weights.items()}
        return {"initial": initial, "weights": weights, "optimizer": self._follower.optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        if state["initial"].keys() != self.initial.keys():
            raise UsageError(
                f"The state is of a companion of the parameters {sorted(state['initial'])}; this one follows "
                f"{sorted(self.initial)}."
            )
        with torch.no_grad():
            for name in self.initial:
                self.initial[name].copy_(state["initial"][name])
                self.weights[name].copy_(state["weights"][name])
        self._leaves = self._frozen()
        self._follower.optimizer.load_state_dict(state["optimizer"])

    def _frozen(self) -> dict[str, Tensor]:
        """What the frozen pass computes with. Rounding the constant weights once saves doing so in every step."""
        leaves = {name: tensor.detach() for name, tensor in self.initial.items()}
        if self.half is not None:
            leaves = {n: _channels_last(t.to(self.half)) if t.ndim > 1 else t for n, t in leaves.items()}
        return {name: leaf.requires_grad_() for name, leaf in leaves.items()}

    def _accumulate(self, taught: Taught) -> None:
        with torch.enable_grad(), taught.given.replayed:
            output = self.forward(*taught.given.args, **taught.given.kwargs)
        gradients = self._gradients(output, self._leaves, taught.errors)
        if self.half is not None and not all(g.sum().isfinite() for g in gradients if g is not None):
            leaves = {name: tensor.detach().requires_grad_() for name, tensor in self.initial.items()}
            with torch.enable_grad(), taught.given.replayed:
                output = replay(self.model, leaves, taught.given.args, taught.given.kwargs)
            gradients = self._gradients(output, leaves, taught.errors)
        for target, gradient in zip(self.weights.values(), gradients, strict=True):
            if gradient is not None:
                target.grad = gradient if target.grad is None else target.grad + gradient

    def _gradients(
        self, output: Any, leaves: Mapping[str, Tensor], errors: tuple[Tensor | None, ...]
    ) -> list[Tensor | None]:
        """Gradients are linear in the errors, which are scaled to the middle of float16's range."""
        outputs = [leaf for leaf in signals(output) if leaf.requires_grad]
        pairs = [(out, e) for out, e in zip(outputs, errors, strict=True) if e is not None]
        largest = max((e.abs().max().item() for _, e in pairs), default=0.0) if self.half is torch.float16 else 0.0
        scale = _MIDDLE / largest if 0 < largest < math.inf else 1.0
        gradients = torch.autograd.grad(
            [out for out, _ in pairs],
            list(leaves.values()),
            [(e if scale == 1 else e * scale).to(out) for out, e in pairs],
            allow_unused=True,
        )
        wanted = zip(self.weights.values(), gradients, strict=True)
        floats = [None if g is None else g.to(target) for target, g in wanted]
        return [g if g is None or scale == 1 else g.div_(scale) for g in floats]


def fast_half(learner: nn.Module) -> torch.dtype | None:
    """The type of 16 bits in which the model's device is faster than in float32, if the model is in float32.

    float16 where there is a choice: bfloat16 is eight times as coarse. It is not taken for narrow networks, whose
    scores it would move by several hundredths, and which gain little.
    """
    parameter = next(learner.parameters(), None)
    if parameter is None or parameter.dtype is not torch.float32:
        return None
    if parameter.device.type == "cuda":
        return torch.float16
    can = torch.cpu.get_capabilities() if parameter.device.type == "cpu" else {}
    if can.get("amx_fp16"):
        return torch.float16
    fast = can.get("amx_bf16") or can.get("avx512_bf16")
    return torch.bfloat16 if fast and _width(learner) >= _WIDE else None


def _width(learner: nn.Module) -> float:
    """Of the middle layer, in units."""
    return statistics.median([len(p) for p in learner.parameters() if p.dim() > 1] or [0])


def _channels_last(leaf: Any) -> Any:
    """Images and kernels in the layout that low-precision convolutions are fast in; the values stay."""
    is_image = isinstance(leaf, Tensor) and leaf.ndim == 4 and leaf.is_floating_point()
    return leaf.contiguous(memory_format=torch.channels_last) if is_image else leaf
