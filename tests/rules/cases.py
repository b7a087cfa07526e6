"""The models on which every rule is held against its specification, as data. A case is one line of `CASES`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import widealign.nn as wide
from widealign import models

Inputs = Callable[[], tuple[Any, ...]]


def squared(output: Any) -> Tensor:
    """A loss for outputs of any structure, whose error differs from entry to entry."""
    if isinstance(output, Tensor):
        target = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
        return (output - target).square().mean()
    parts = output.values() if isinstance(output, Mapping) else output
    return sum((squared(part) for part in parts), start=torch.zeros(()))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model, what it is called with, and the sites if they are not the default ones."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Inputs
    kwargs: Callable[[], dict[str, Any]] = dict
    options: Mapping[str, Any] = field(default_factory=dict)
    couples_examples: bool = False

    @property
    def quick(self) -> bool:
        """Whether the quick part of the suite runs this case."""
        return self.name in QUICK

    def model(self, seed: int = 0) -> nn.Module:
        """The model at initialisation, the same for the same seed."""
        torch.manual_seed(seed)
        return self.build()

    def batch(self, seed: int = 1) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword inputs."""
        torch.manual_seed(seed)
        return self.inputs(), self.kwargs()

    def __str__(self) -> str:
        return self.name


def vectors(batch: int = 3, features: int = 3) -> Inputs:
    return lambda: (torch.randn(batch, features),)


def images(batch: int = 2, channels: int = 2, *size: int) -> Inputs:
    return lambda: (torch.randn(batch, channels, *(size or (4, 4))),)


def tokens(batch: int = 2, steps: int = 3, vocabulary: int = 4) -> Inputs:
    return lambda: (torch.randint(vocabulary, (batch, steps)),)


def mlp(activation: Callable[[], nn.Module], *norm: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Linear(3, 4),
        *norm,
        activation(),
        nn.Linear(4, 6),
        activation(),
        nn.Linear(6, 5),
        activation(),
        nn.Linear(5, 2),
    )


def ntk_mlp(activation: Callable[[], nn.Module]) -> nn.Module:
    return nn.Sequential(wide.Linear(3, 5), activation(), wide.Linear(5, 4), activation(), wide.Linear(4, 2))


def cnn(activation: Callable[[], nn.Module], *norm: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 2, 3, padding=1),
        *norm,
        activation(),
        nn.Conv2d(2, 4, 3, padding=1, stride=2),
        activation(),
        nn.Flatten(),
        nn.Linear(16, 2),
    )


def ntk_cnn() -> nn.Module:
    return nn.Sequential(
        wide.Conv2d(2, 2, 3, padding=1),
        nn.ReLU(),
        wide.Conv2d(2, 3, 3, stride=2, bias=False),
        nn.Tanh(),
        nn.Flatten(),
        wide.Linear(3, 2, parameterize="standard"),
    )


class Mean(nn.Module):
    """Global average pool."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).mean(2)


class Residual(nn.Module):
    """Branches that multiply, a shortcut, and operations in place right after sites."""

    def __init__(self):
        super().__init__()
        self.first, self.left, self.right = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.last, self.readout = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        y = torch.tanh(self.left(x)) * torch.sigmoid(self.right(x))
        y = self.last(y)
        y += x
        y.relu_()
        return self.readout(y)


class Unrolled(nn.Module):
    """A recurrent cell and a readout at each step: sites called many times, a tuple of outputs."""

    def __init__(self, cell: nn.Module, takes_state_pair: bool = False):
        super().__init__()
        self.cell, self.readout, self.pair = cell, nn.Linear(3, 1), takes_state_pair

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        state = x.new_zeros(x.shape[0], 3)
        state = (state, state) if self.pair else state
        outputs = []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            outputs.append(self.readout(state[0] if self.pair else state))
        return tuple(outputs)


class First(nn.Module):
    """A recurrent layer's outputs, read out at every step."""

    def __init__(self, recurrent: nn.Module):
        super().__init__()
        self.recurrent, self.readout = recurrent, nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(self.recurrent(x)[0])


class TiedTokens(nn.Module):
    """An embedding whose matrix is also the readout's, on sequences."""

    def __init__(self):
        super().__init__()
        self.embedding, self.hidden, self.norm = nn.Embedding(4, 3), nn.Linear(3, 3), nn.LayerNorm(3)
        self.readout = nn.Linear(3, 4, bias=False)
        self.readout.weight = self.embedding.weight

    def forward(self, index: Tensor) -> Tensor:
        return self.readout(self.norm(torch.tanh(self.hidden(self.embedding(index)))))


class TwoInputs(nn.Module):
    """A site with two inputs, a keyword input, a dict of outputs."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.both = nn.Linear(3, 2), nn.Linear(2, 3), nn.Bilinear(2, 3, 4)
        self.head, self.other = nn.Linear(4, 2), nn.Linear(4, 1)

    def forward(self, x: Tensor, *, context: Tensor) -> dict[str, Tensor]:
        y = torch.tanh(self.both(torch.tanh(self.left(x)), torch.tanh(self.right(context))))
        return {"class": self.head(y), "value": self.other(input=y)}


class Own(nn.Module):
    """A user's module that owns parameters and does something of its own with them."""

    def __init__(self, features: int):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(features))
        self.mix = nn.Parameter(torch.randn(features, features))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x * self.gain) @ self.mix + x.square() * 0.1


class Block(nn.Module):
    """Two layers that a caller may name as one site."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.outer(torch.tanh(self.inner(x))))


class TiedModules(nn.Module):
    """Two modules share a weight, and one of them has two names."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.others = nn.ModuleDict({"first": self.first, "readout": nn.Linear(3, 2)})

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.others["first"](x))
        return self.others["readout"](torch.tanh(self.second(x)) + self.first(x))


class Listed(nn.Module):
    """Its parameters are in a list and in a dict."""

    def __init__(self):
        super().__init__()
        self.mixes = nn.ParameterList([torch.randn(4, 4), torch.randn(4, 4)])
        self.shifts = nn.ParameterDict({"after": torch.randn(4)})

    def forward(self, x: Tensor) -> Tensor:
        for mix in self.mixes:
            x = torch.sin(x @ mix) + self.shifts["after"]
        return x


class InPlace(nn.Module):
    """A user's module that changes its input, and returns it."""

    def __init__(self, features: int):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(features))

    def forward(self, x: Tensor) -> Tensor:
        x.sub_(0.5)
        x *= self.gain
        return x


class Centred(nn.Module):
    """A user's module that reads a buffer, and then updates it."""

    def __init__(self, features: int):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(features))
        self.register_buffer("mean", torch.randn(features))
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sin(x - self.mean) * self.gain
        if self.training:
            self.mean.lerp_(x.detach().mean(0), 0.3)
            self.steps = self.steps + 1
        return y


class PartlyFixed(nn.Module):
    """Its first layer is run without a graph, and its input is changed in place."""

    def __init__(self):
        super().__init__()
        self.fixed, self.layer, self.readout = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x *= 2
        with torch.no_grad():
            x = self.fixed(x)
        return self.readout(torch.tanh(self.layer(x)))


def spectral() -> nn.Module:
    model = mlp(nn.Tanh)
    nn.utils.parametrizations.spectral_norm(model[2])
    return model


def paper_cnn(activation: Callable[[], nn.Module]) -> nn.Module:
    return nn.Sequential(
        wide.PaperLayer(2, 2),
        activation(),
        wide.PaperLayer(2, 3, stride=2, parameterize="standard"),
        activation(),
        wide.PaperLayer(3, 3),
        activation(),
        wide.Entry(),
        Mean(),
        wide.Linear(3, 2),
    )


def parametrized() -> nn.Module:
    model = mlp(nn.Tanh)
    nn.utils.parametrizations.weight_norm(model[2])
    return model


def _case(name: str, build: Callable[[], nn.Module], inputs: Inputs, **rest: Any) -> Case:
    return Case(name=name, build=build, inputs=inputs, **rest)


ACTIVATIONS = {"relu": nn.ReLU, "relu-in-place": lambda: nn.ReLU(inplace=True), "tanh": nn.Tanh, "linear": nn.Identity}

CASES = (
    *(_case(f"mlp-{name}", lambda a=a: mlp(a), vectors()) for name, a in ACTIVATIONS.items()),
    *(_case(f"ntk-mlp-{name}", lambda a=a: ntk_mlp(a), vectors()) for name, a in ACTIVATIONS.items()),
    *(_case(f"cnn-{name}", lambda a=a: cnn(a), images()) for name, a in ACTIVATIONS.items()),
    _case("ntk-cnn", ntk_cnn, images()),
    *(
        _case(f"paper-cnn-{name}", lambda a=a: paper_cnn(a), images(3), couples_examples=True)
        for name, a in ACTIVATIONS.items()
        if name != "relu-in-place"
    ),
    _case("layer-norm", lambda: mlp(nn.Tanh, nn.LayerNorm(4)), vectors()),
    _case("layer-norm-plain", lambda: mlp(nn.Tanh, nn.LayerNorm(4, elementwise_affine=False)), vectors()),
    _case("group-norm", lambda: cnn(nn.Tanh, nn.GroupNorm(2, 2)), images()),
    _case("group-norm-plain", lambda: cnn(nn.Tanh, nn.GroupNorm(1, 2, affine=False)), images()),
    _case("batch-norm", lambda: cnn(nn.Tanh, nn.BatchNorm2d(2)), images(3), couples_examples=True),
    _case("batch-norm-plain", lambda: cnn(nn.Tanh, nn.BatchNorm2d(2, affine=False)), images(3), couples_examples=True),
    _case("batch-norm-1d", lambda: mlp(nn.ReLU, nn.BatchNorm1d(4)), vectors(4), couples_examples=True),
    _case("dropout", lambda: mlp(nn.Tanh, nn.Dropout(0.4)), vectors()),
    _case("residual", Residual, vectors()),
    _case("rnn-cell", lambda: Unrolled(nn.RNNCell(2, 3)), lambda: (torch.randn(2, 3, 2),)),
    _case("gru-cell", lambda: Unrolled(nn.GRUCell(2, 3)), lambda: (torch.randn(2, 3, 2),)),
    _case("lstm-cell", lambda: Unrolled(nn.LSTMCell(2, 3), True), lambda: (torch.randn(2, 3, 2),)),
    _case("tied-tokens", TiedTokens, tokens()),
    _case("two-inputs", TwoInputs, vectors(), kwargs=lambda: {"context": torch.randn(3, 2)}),
    _case("own-module", lambda: nn.Sequential(nn.Linear(3, 4), Own(4), nn.Tanh(), nn.Linear(4, 2)), vectors()),
    _case("parametrized", parametrized, vectors()),
    _case("spectral-norm", spectral, vectors()),
    _case("tied-modules", TiedModules, vectors()),
    *(
        _case(
            name, lambda module=module: nn.Sequential(nn.Linear(3, 4), module(), nn.Tanh(), nn.Linear(4, 2)), vectors()
        )
        for name, module in {
            "parameter-list": Listed,
            "own-in-place": lambda: InPlace(4),
            "own-buffers": lambda: Centred(4),
        }.items()
    ),
    _case("partly-fixed", PartlyFixed, vectors()),
    _case(
        "max-pool", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3, 2)), images()
    ),
    _case(
        "attention",
        lambda: nn.Sequential(nn.Linear(3, 4), wide.Attention(4, 2, causal=True), nn.Linear(4, 1)),
        lambda: (torch.randn(2, 3, 3),),
    ),
    _case("gru", lambda: First(wide.GRU(2, 3, 2, batch_first=True)), lambda: (torch.randn(2, 3, 2),)),
    _case("add-rnn", lambda: models.add_rnn(4, rows=3), vectors(3, 4)),
    _case("model-mlp", lambda: models.mlp(3, [5, 4], 2, "tanh", "standard"), vectors()),
    _case("kmnist-cnn", lambda: models.kmnist_cnn(2, num_classes=2), images(3, 1), couples_examples=True),
    _case("resnet", lambda: models.resnet(2, num_classes=2, in_channels=2), images(1, 2, 8, 8)),
    _case("transformer", lambda: models.transformer(4, vocabulary=4, length=3, depth=1, heads=2), tokens()),
    _case(
        "named-block",
        lambda: nn.Sequential(nn.Linear(3, 3), nn.Tanh(), Block(), nn.Linear(3, 2)),
        vectors(),
        options={"sites": ["0", "2", "3"]},
    ),
)


QUICK = {
    *(
        "mlp-relu-in-place",
        "ntk-mlp-tanh",
        "cnn-relu",
        "paper-cnn-relu",
        "batch-norm",
        "dropout",
        "residual",
        "rnn-cell",
    ),
    *("tied-tokens", "two-inputs", "own-module", "add-rnn"),
    *("tied-modules", "own-in-place", "own-buffers", "partly-fixed"),
}

EVERY = [pytest.param(c, id=c.name, marks=[pytest.mark.quick] if c.quick else []) for c in CASES]
"""All cases, for `pytest.mark.parametrize`."""


def case(name: str) -> Case:
    """The case of that name."""
    return next(c for c in CASES if c.name == name)
