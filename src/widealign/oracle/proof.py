"""Proof, on the user's own model and batch, of what a learner does and does not do."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from widealign.oracle.dense import RULES, dense_gradients
from widealign.oracle.findings import Report
from widealign.oracle.locality import locality
from widealign.oracle.packing import pack
from widealign.oracle.trial import Trial, fresh, worst_difference
from widealign.rules import Learner


def check(learner: Learner, x: Any, y: Any, loss: Callable[[Any, Any], Tensor], *, largest: int = 10_000_000) -> Report:
    """Verifies on one batch that a learner does what its rule says. Print the report to read it.

    Args:
        learner: A learner in training mode. Neither it nor its gradients nor the random state change.
        x: What the learner is called with: a tensor, a tuple of positional or a dict of keyword arguments.
        y: The target.
        loss: Maps output and target to a scalar.
        largest: The dense formula is written out if its Jacobians have at most so many entries together.

    Returns:
        Whether the values are the model's, the update equals the dense formula, the update of the first site is
        independent of the weights after it, and the update is backpropagation's at these weights.

    Example:
        >>> import torch, widealign
        >>> from torch import nn
        >>> learner = widealign.AlignAda(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
        >>> report = check(learner, torch.randn(5, 3), torch.randn(5, 2), widealign.mse)
        >>> report.ok, report.locality.holds, report.equals_backprop  # at initialisation Align-ada is backprop
        (True, True, True)
    """
    trial = Trial.on(learner, x, y, loss)
    tolerance = min(1e3 * torch.finfo(next(learner.model.parameters()).dtype).eps, 0.05)
    difference, skipped = _against_oracle(trial, largest)
    return Report(
        rule=learner.id,
        values_equal=_values_equal(trial),
        oracle_difference=difference,
        oracle_skipped=skipped,
        locality=locality(trial, tolerance),
        backprop_difference=worst_difference(trial.update(), trial.backprop()),
        backprop_tolerance=tolerance,
    )


def _values_equal(trial: Trial) -> bool:
    ours, theirs = pack(trial.run(fresh(trial.learner))), pack(trial.run(fresh(trial.learner).model))
    return ours.spec == theirs.spec and torch.equal(ours.vector, theirs.vector)


def _against_oracle(trial: Trial, largest: int) -> tuple[float | None, str]:
    if trial.learner.id not in RULES:
        return None, f"the oracle has no formula for the rule {trial.learner.id!r}"
    if any(getattr(module, "taught_at_reentry", False) for module in trial.learner.model.modules()):
        return None, "a site is taught at re-entry, the variant of the paper's scripts, which the oracle does not know"
    exact = trial.in_float64()
    try:
        count = exact.jacobian_entries()
    except RuntimeError as error:
        return None, f"the model does not run in float64 ({str(error).splitlines()[0]})"
    if count > largest:
        return None, f"its Jacobians would have {count:.0e} entries, and largest= allows {largest:.0e}"
    twin = fresh(exact.learner)
    update = exact.update(twin)
    with exact.same_random_state():
        dense = dense_gradients(
            twin.id,
            twin.model,
            _remembered(twin),
            exact.args,
            exact.scalar,
            feedback=getattr(twin, "feedback", None),
            sites=exact.sites(),
            kwargs=exact.kwargs,
        )
    return worst_difference(update, dense), ""


def _remembered(learner: Any) -> dict[str, Tensor]:
    """The initial parameters, of a rule that remembers them."""
    snapshot = getattr(learner, "initial", None)
    return {} if snapshot is None else snapshot.values()
