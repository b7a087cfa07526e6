"""The body of `widealign train`. Torch is imported when a run begins, so that `--help` is quick."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from widealign.arguments import Whole
from widealign.config import (
    Activation,
    Device,
    Evaluated,
    Loss,
    Optimizer,
    Parameterization,
    Precision,
    Protocol,
    RunConfig,
    Schedule,
    Task,
)
from widealign.errors import Diverged, UsageError

if TYPE_CHECKING:
    from widealign.train.runner import Options

_EPOCHS: dict[Task, int] = {
    "cifar10": 150,
    "kmnist": 100,
    "fashion-mnist": 100,
    "imagenet": 1,
    "add": 500,
    "digits": 20,
}
_SMALL_RATE = 0.001


def parse_rates(type_: Any, tokens: Sequence[Token]) -> tuple[float, ...]:
    """Learning rates from `1,2,5`."""
    if len(tokens) > 1:
        raise ValueError("it is given more than once; several learning rates are written as 1,2,5.")
    try:
        return tuple(float(part) for token in tokens for part in token.value.split(","))
    except ValueError:
        given = ",".join(token.value for token in tokens)
        raise ValueError(f"a number is needed, or several as 1,2,5; given {given!r}.") from None


_Flag = Parameter(negative="")
_Rates = Parameter(converter=parse_rates, n_tokens=1, negative="")
_Repeated = Parameter(negative="", show_default=False)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """The options of `widealign train`, and of every command that trains.

    Attributes:
        rule: which learning rule; `widealign list` names them.
        width: channels of every layer, or size of the state.
        lr: learning rate; several, as 1,2,5, train each and choose as the protocol does.
        seed: of all random numbers.
        epochs: how many; by default the paper's number for the task.
        data_limit: train on this many examples only.
        activation: between the layers.
        parameterization: ntk, weights of size 1 and a factor 1/sqrt(fan-in); standard, weights of that size.
        optimizer: adam is TensorFlow's variant under the paper protocol.
        momentum: of the optimizer momentum.
        weight_decay: of any optimizer.
        schedule: how the learning rate changes until the end.
        loss: mean squared error, or cross entropy for tasks with classes.
        protocol: paper, as the authors' scripts do it; sound, as a careful researcher would.
        batch_size: by default the protocol's.
        rule_option: NAME=VALUE for the rule, as refresh=100; may be repeated.
        precision: of forward and backward passes.
        compile: use torch.compile.
        device: where to compute; auto takes a GPU if there is one.
        threads: for the CPU; same bits need the same number.
        log_steps: write the loss of every step.
        evaluated: chosen-epochs looks at the test set only at the epoch that validation chooses and at the last.
        data_dir: where data are looked for first.
        allow_unverified: data files that are not the official ones are a warning instead of an error.
        resume: go on from the newest checkpoint.
        checkpoint_seconds: how often to save within an epoch.
        tensorboard: write the figures for TensorBoard, too.
        out: the run's folder; by default one below runs/, named after the settings.
    """

    rule: str = "normal"
    width: Whole = 64
    lr: Annotated[tuple[float, ...] | None, _Rates] = None
    seed: Whole = 99
    epochs: Whole | None = None
    data_limit: Whole | None = None
    activation: Activation = "relu"
    parameterization: Parameterization = "ntk"
    optimizer: Optimizer = "sgd"
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    loss: Loss = "mse"
    protocol: Protocol = "paper"
    batch_size: Whole | None = None
    rule_option: Annotated[tuple[str, ...], _Repeated] = ()
    precision: Precision = "float32"
    compile: Annotated[bool, _Flag] = False
    device: Device = "auto"
    threads: Whole | None = None
    log_steps: Annotated[bool, _Flag] = False
    evaluated: Evaluated = "every-epoch"
    data_dir: Path | None = None
    allow_unverified: Annotated[bool, _Flag] = False
    resume: Annotated[bool, _Flag] = False
    checkpoint_seconds: float = 60.0
    tensorboard: Annotated[bool, _Flag] = False
    out: Path | None = None

    def rates(self, task: Task) -> tuple[float, ...]:
        """The learning rates; by default one that suits the task and the optimizer."""
        small = task == "add" or self.optimizer in ("adam", "adamw")
        return self.lr or (_SMALL_RATE if small else 1.0,)

    def config(self, task: Task) -> RunConfig:
        """The settings, with the first of the learning rates."""
        return RunConfig(
            task=task,
            rule=self.rule,
            width=self.width,
            lr=self.rates(task)[0],
            seed=self.seed,
            epochs=_EPOCHS[task] if self.epochs is None else self.epochs,
            protocol=self.protocol,
            data_limit=self.data_limit,
            activation=self.activation,
            parameterization=self.parameterization,
            optimizer=self.optimizer,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            schedule=self.schedule,
            loss=self.loss,
            batch_size=self.batch_size,
            precision=self.precision,
            compile=self.compile,
            device=self.device,
            threads=self.threads,
            log_steps=self.log_steps,
            evaluated=self.evaluated,
            rule_options=dict(_option(text) for text in self.rule_option),
        )

    def options(self) -> "Options":
        """How the run is carried out."""
        from widealign.train.runner import Options

        return Options(
            resume=self.resume,
            data_dir=self.data_dir,
            allow_unverified=self.allow_unverified,
            checkpoint_seconds=self.checkpoint_seconds,
            tensorboard=self.tensorboard,
        )

    def folder(self, config: RunConfig) -> Path:
        """The folder of a run with these settings."""
        if self.out is not None:
            return self.out
        rates = "-".join(f"{rate:g}" for rate in self.rates(config.task))
        return Path("runs") / f"{config.task}-{self.rule}-width-{self.width}-lr-{rates}-{config.id[:8]}"


def train(task: Task, *, arguments: RunArguments = RunArguments()) -> None:
    """Train a network by a learning rule, and write settings, metrics and result to a folder.

    Args:
        task: what to learn. digits and add need no download.
        arguments: the options.
    """
    from widealign.train.grid import run_grid
    from widealign.train.runner import run

    config, rates = arguments.config(task), arguments.rates(task)
    out = arguments.folder(config)
    if len(rates) > 1:
        result = run_grid(config, rates, out, arguments.options())
    else:
        result = run(config, out, arguments.options())
    print(summary(result, out))
    if result["status"] == "diverged":
        raise Diverged(what_happened(result))


def summary(result: dict[str, Any], out: Path) -> str:
    """One line: how a run ended, its best and last figures, and where they are."""
    best = "  ".join(
        f"{name} {value:.4f} (last {result['last'][name]:.4f})"
        for name, value in result["best"].items()
        if value is not None
    )
    return f"{result['status']}: {result['epochs']} epochs, {result['steps']} steps, best {best or 'none'}  {out}"


def what_happened(result: dict[str, Any]) -> str:
    """One sentence about a run that diverged: what, at which step, in which layer."""
    at = result["diverged"]
    return (
        f"training diverged: the {at['what']} is not finite at step {at['step']} (epoch {at['epoch']}), rule "
        f"{at['rule']}, layer {at['layer']}; lr was {result['lr']:g}, try a smaller one"
    )


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--rule-option must be NAME=VALUE, as refresh=100; given {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
