"""A measurement that is not a training run, as data: the theory's rates, timings against backprop. No torch here."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from widealign.config import SCHEMA

Kind = Literal["theory-1", "theory-2", "theory-3", "speed"]


@dataclass(frozen=True, kw_only=True)
class Study:
    """One call of a measuring function; its hash names its folder in a store, as for a run."""

    kind: Kind
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Hash of everything that decides the result."""
        canonical = json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]
