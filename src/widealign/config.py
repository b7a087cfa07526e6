"""One run as data: a frozen, fully resolved configuration. Its hash is the run's identity. No torch here."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SCHEMA = 1

Task = Literal["cifar10", "kmnist", "fashion-mnist", "imagenet", "add", "digits"]
Protocol = Literal["paper", "sound"]
Activation = Literal["relu", "tanh"]
Parameterization = Literal["ntk", "standard"]
Optimizer = Literal["sgd", "momentum", "adam", "adamw"]
Schedule = Literal["constant", "cosine", "linear"]
Loss = Literal["mse", "cross-entropy"]
Precision = Literal["float32", "bf16"]
Device = Literal["auto", "cpu", "cuda"]
Evaluated = Literal["every-epoch", "chosen-epochs"]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides a run's numbers.

    `batch_size=None`, `loss=None` and the like mean "what the protocol says"; `train.resolve` fills them in before
    a run starts, so that a stored configuration has no open ends.
    """

    task: Task
    rule: str
    width: int
    lr: float
    seed: int = 99
    epochs: int = 1
    protocol: Protocol = "paper"
    data_limit: int | None = None
    activation: Activation = "relu"
    parameterization: Parameterization = "ntk"
    optimizer: Optimizer = "sgd"
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    loss: Loss = "mse"
    batch_size: int | None = None
    precision: Precision = "float32"
    compile: bool = False
    device: Device = "auto"
    threads: int | None = None
    log_steps: bool = False
    alignment: bool = False
    evaluated: Evaluated = "every-epoch"
    rule_options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Hash of the whole configuration and the schema version; names the run's folder in a store."""
        canonical = json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]
