"""The weights that are measured: their names, their number, and what can be said of a pair of weight tensors."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from widealign.alignment.scores import as_matrix
from widealign.graph import Snapshot
from widealign.rules import Learner, learner_of


def measured(parameters: Mapping[str, Tensor]) -> dict[int, str]:
    """Names of the weight matrices and kernels, numbered from 1 in the order of the model; biases are left out."""
    return dict(enumerate((name for name, p in parameters.items() if p.ndim >= 2), start=1))


def as_rows(change: Tensor, module: nn.Module | None) -> Tensor:
    """A change of a module's weights as (out, fan-in), groups one below the other: with one column for each input.

    Embeddings and transposed convolutions keep their weights the other way round.
    """
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return change.mT
    if isinstance(module, _ConvTransposeNd):
        return change.flatten(1).unflatten(0, (module.groups, -1)).mT.flatten(0, 1)
    return as_matrix(change)


def groups_of(module: nn.Module | None) -> int:
    """Into how many blocks the matrix of a module falls."""
    return module.groups if isinstance(module, _ConvNd) else 1


def owner_of(name: str, model: nn.Module) -> nn.Module:
    """The module that holds a parameter."""
    return model.get_submodule(name.rpartition(".")[0])


def site_of(name: str, sites: Mapping[str, Any]) -> str | None:
    """The site that owns a parameter: the longest one that its name begins with."""
    owners = [site for site in sites if not site or name.startswith(f"{site}.")]
    return max(owners, key=len, default=None)


def cosine(a: Tensor, b: Tensor) -> float:
    """Cosine of two tensors as vectors; nan where one is zero."""
    a, b = (t.detach().to_dense().double().flatten() for t in (a, b))
    norms = a.norm() * b.norm()
    return (torch.dot(a, b) / norms).clamp(-1, 1).item() if norms > 0 else math.nan


def angle(a: Tensor, b: Tensor) -> float:
    """Angle in degrees."""
    value = cosine(a, b)
    return math.degrees(math.acos(value)) if math.isfinite(value) else math.nan


def relative_change(now: Tensor, then: Tensor) -> float:
    """‖now - then‖ / ‖then‖ in Frobenius norm."""
    size = then.detach().norm()
    return ((now.detach() - then.detach()).norm() / size).item() if size > 0 else math.nan


def feedback_of(learner: nn.Module) -> dict[str, Tensor]:
    """The weights that carry a learner's error back, by the parameter that each stands for; empty where there are none.

    Chained rules say so themselves; for rules that use the initial network it is the initial weights.
    """
    inner = learner_of(learner)
    if not isinstance(inner, Learner):
        return {}
    feedback = getattr(inner, "feedback", None)
    return dict(feedback) if isinstance(feedback, Mapping) else initial_of(inner) or {}


def initial_of(learner: nn.Module) -> dict[str, Tensor] | None:
    """The initial weights that a learner remembers, by name, if it does."""
    inner = learner_of(learner)
    snapshot = getattr(inner, "initial", None)
    return snapshot.values() if isinstance(inner, Learner) and isinstance(snapshot, Snapshot) else None
