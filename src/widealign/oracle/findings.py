"""What `check` found out about a learner, as data and in words."""

from dataclasses import dataclass

ORACLE_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Locality:
    """Whether the update of `upstream` depends on the weights of `downstream`, for one and the same output error."""

    upstream: str
    downstream: tuple[str, ...]
    difference: float
    tolerance: float
    promised: bool

    @property
    def holds(self) -> bool:
        """Whether the update stayed as it was."""
        return self.difference <= self.tolerance

    def __str__(self) -> str:
        changed = f"changing the weights of {_listed(self.downstream)}"
        if self.holds and self.promised:
            return f"{changed} leaves the update of {_quoted(self.upstream)} as it was, for the same output error"
        if self.holds:
            return (
                f"{changed} leaves the update of {_quoted(self.upstream)} as it was here, though this rule does not "
                "promise it: no live gate and no live weight lies on the way of its error"
            )
        by = f"{changed} changes the update of {_quoted(self.upstream)} by {self.difference:.1e} of its size"
        if not self.promised:
            return f"{by}, for the same output error: this rule needs to know the weights or gates downstream"
        return (
            f"{by}, for the same output error, which this rule promises not to happen. If two sites are multiplied "
            "with each other (a learned gate), name the module that holds both in sites="
        )


@dataclass(frozen=True, kw_only=True)
class Report:
    """The findings of `check`.

    Attributes:
        rule: The rule's id.
        values_equal: Whether the learner's output is the model's, bit for bit.
        oracle_difference: Worst difference between the update and the dense formula, relative to each tensor's largest
            entry; None if it was not computed.
        oracle_skipped: Why the dense formula was not computed; empty if it was.
        locality: How the update depends on weights downstream; None if no site lies upstream of another.
        backprop_difference: Worst difference between the update and backpropagation's, measured in the same way.
        backprop_tolerance: Up to where they count as equal.
    """

    rule: str
    values_equal: bool
    oracle_difference: float | None
    oracle_skipped: str
    locality: Locality | None
    backprop_difference: float
    backprop_tolerance: float

    @property
    def equals_oracle(self) -> bool | None:
        """Whether the update is the rule's formula; None if that was not computed."""
        return None if self.oracle_difference is None else self.oracle_difference <= ORACLE_TOLERANCE

    @property
    def equals_backprop(self) -> bool:
        """Whether the update is backpropagation's, at these weights."""
        return self.backprop_difference <= self.backprop_tolerance

    @property
    def ok(self) -> bool:
        """Whether everything holds that the rule promises."""
        local = self.locality is None or self.locality.holds or not self.locality.promised
        return self.values_equal and self.equals_oracle is not False and local

    def __str__(self) -> str:
        lines = (self._values(), self._oracle(), self._locality(), self._backprop())
        verdict = "all that the rule promises holds" if self.ok else "something that the rule promises does NOT hold"
        return "\n".join([f"{self.rule}: {verdict}", *(f"  {line}" for line in lines)])

    def _values(self) -> str:
        if self.values_equal:
            return "values    equal: the learner's output is the model's, bit for bit"
        return "values    NOT equal: the learner's output differs from the model's"

    def _oracle(self) -> str:
        if self.oracle_difference is None:
            return f"formula   skipped: {self.oracle_skipped}"
        worst = f"worst relative difference {self.oracle_difference:.1e}, in float64"
        if self.equals_oracle:
            return f"formula   equal: the update is the rule's formula with all Jacobians written out ({worst})"
        return f"formula   NOT equal: the update is not the rule's formula with all Jacobians written out ({worst})"

    def _locality(self) -> str:
        if self.locality is None:
            return "locality  skipped: no site's activity is independent of all others' weights, so none is upstream"
        word = "local" if self.locality.holds else "not local" if not self.locality.promised else "NOT local"
        return f"locality  {word}: {self.locality}"

    def _backprop(self) -> str:
        worst = f"worst relative difference {self.backprop_difference:.1e}"
        if self.equals_backprop:
            return f"backprop  equal: at these weights the update is backpropagation's ({worst})"
        return f"backprop  different: the update is not backpropagation's ({worst})"


def _quoted(name: str) -> str:
    return f"'{name}'" if name else "the model"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(_quoted(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
