"""What is timed, as data: networks, widths, batches, and the rules and modes on each. No torch here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

Name = Literal["cnn", "mlp", "rnn", "transformer"]
Mode = Literal["plain", "compiled", "jacobian", "gates", "dual", "in-place"]
Precision = Literal["float32", "bf16"]
MODES: tuple[Mode, ...] = get_args(Mode)


class Contender(NamedTuple):
    """A rule in one of its forms. `normal` is plain PyTorch, with no learner around the model."""

    rule: str
    mode: Mode


BASELINE = Contender("normal", "plain")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One network at one width, and the data it sees."""

    network: Name
    width: int
    batch: int
    examples: int

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.network}, width {self.width}, batch {self.batch}, {self.examples} examples"


@dataclass(frozen=True, kw_only=True)
class Network:
    """How a network is timed.

    Attributes:
        title: What it is.
        widths: All that are timed; the first is the quick one.
        batch: Examples in a step.
        examples: Training examples, visited in turn: what is cached is cached for each of them.
        modes: Forms beside the plain one, by rule.
        compiles: Whether tracing it ends in good time.
        work: Multiplications of one forward pass of one example at a width, roughly.
        beside: Other batches and numbers of examples, at one width; for the rules in `SCALING` only.
    """

    title: str
    widths: tuple[int, ...]
    batch: int
    examples: int
    work: Callable[[int], float]
    modes: Mapping[str, tuple[Mode, ...]] = field(default_factory=dict)
    compiles: bool = True
    beside: tuple[Case, ...] = ()


NETWORKS: dict[Name, Network] = {
    "cnn": Network(
        title="the paper's CIFAR-10 network",
        widths=(8, 16, 32, 64, 128),
        batch=100,
        examples=200,
        work=lambda m: 24_192 * m**2 + 250_000 * m,
        modes={"align-ada": ("gates",)},
        beside=tuple(Case(network="cnn", width=32, batch=batch, examples=200) for batch in (25, 50, 200)),
    ),
    "mlp": Network(
        title="an MLP 3072-m-m-m-10",
        widths=(512, 1024, 2048, 4096),
        batch=50,
        examples=450,
        work=lambda m: 2 * m**2 + 3_082 * m,
        modes={
            "normal": ("in-place",),
            "align-ada": ("jacobian", "gates", "in-place"),
            "align-zero": ("jacobian", "dual"),
        },
        beside=(
            *(Case(network="mlp", width=2048, batch=batch, examples=450) for batch in (10, 225)),
            *(Case(network="mlp", width=2048, batch=50, examples=examples) for examples in (150, 1350)),
        ),
    ),
    "rnn": Network(
        title="the paper's network for the Add task, 100 steps",
        widths=(64, 128, 256, 512, 1024),
        batch=50,
        examples=100,
        work=lambda m: 100 * m**2 + 20_000 * m,
        compiles=False,
    ),
    "transformer": Network(
        title="a transformer of two blocks, 16 tokens",
        widths=(64, 128, 256),
        batch=32,
        examples=64,
        work=lambda m: 16 * 24 * m**2 + 20_000 * m,
    ),
}
HEADS = 4
"""The transformer's; its width is a multiple of them."""

COMPILED = ("normal", "align-zero", "align-ada")
"""Rules whose compiled form is timed where no rule is named: a compilation takes 10 to 20 seconds."""

BY_HAND: tuple[Mode, ...] = ("dual", "in-place")
"""Forms without autograd, and so without its lower precision."""

SCALING = ("normal", "align-zero", "align-ada")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the user asked for; nothing means all of it."""

    networks: Sequence[Name] = ()
    widths: Sequence[int] = ()
    rules: Sequence[str] = ()
    batch: int | None = None
    quick: bool = False
    compile: bool = False
    precision: Precision = "float32"


def cases(choice: Choice) -> Iterator[Case]:
    """The cases of a choice, network by network."""
    for name in choice.networks or NETWORKS:
        network = NETWORKS[name]
        batch = choice.batch or network.batch
        examples = max(network.examples, batch)
        widths = choice.widths or (network.widths[:1] if choice.quick else network.widths)
        yield from (Case(network=name, width=width, batch=batch, examples=examples) for width in widths)
        if not choice.quick and not choice.batch:
            yield from (case for case in network.beside if case.width in widths)


def contenders(case: Case, choice: Choice, rules: Sequence[str]) -> list[Contender]:
    """Who runs in a case, the baseline first; `rules` are all there are."""
    network = NETWORKS[case.network]
    asked = choice.rules or (SCALING if case in network.beside else rules)
    wanted = [rule for rule in rules if rule in asked]
    compiled = (choice.rules or COMPILED) if choice.compile and network.compiles and case not in network.beside else ()
    found = [
        Contender(rule, mode)
        for rule in wanted
        for mode in MODES
        if mode == "plain" or mode in network.modes.get(rule, ()) or (mode == "compiled" and rule in compiled)
    ]
    beside = [Contender("normal", "in-place")] if any(c.mode == "in-place" for c in found) else []
    beside += [Contender("normal", "compiled")] if any(c.mode == "compiled" for c in found) else []
    everybody = dict.fromkeys([BASELINE, *beside, *found])
    return [one for one in everybody if choice.precision == "float32" or one.mode not in BY_HAND]
