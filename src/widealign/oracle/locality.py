"""Whether an update depends on weights downstream: what makes a rule different from backpropagation."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from widealign.oracle.cut import record
from widealign.oracle.dense import DIRECT, INITIAL, output_error
from widealign.oracle.findings import Locality
from widealign.oracle.packing import pack
from widealign.oracle.trial import Gradients, Trial, fresh, gradients, worst_difference
from widealign.rules import Learner

LOCAL = (*INITIAL, *DIRECT)
"""Rules that promise: what a site learns does not depend on the live weights after it."""


def locality(trial: Trial, tolerance: float) -> Locality | None:
    """Changes the weights after the first site, and compares that site's update for the same output error.

    Weights that several sites share are left alone, since they learn downstream, too.

    Returns:
        The finding; None if those weights also feed the first site's input, so that it is not upstream of them.
    """
    order = trial.order()
    upstream = next((site for site in order if _own(trial.learner.model, site, order)), None)
    if upstream is None or upstream == order[-1]:
        return None
    downstream = order[order.index(upstream) + 1 :]
    before, after = fresh(trial.learner), fresh(trial.learner)
    _change(after.model, {name for site in downstream for name in _own(after.model, site, order)})
    if not torch.equal(_activity(trial, before, upstream), _activity(trial, after, upstream)):
        return None
    error = output_error(pack(trial.run(fresh(trial.learner).model)), trial.scalar)
    own = _own(trial.learner.model, upstream, order)
    return Locality(
        upstream=upstream,
        downstream=tuple(downstream),
        difference=worst_difference(_taught(trial, after, error, own), _taught(trial, before, error, own)),
        tolerance=tolerance,
        promised=trial.learner.id in LOCAL,
    )


def _own(model: nn.Module, site: str, sites: Iterable[str]) -> set[str]:
    """The names of the parameters of a site that it shares with no other."""
    ids = {other: {id(parameter) for parameter in model.get_submodule(other).parameters()} for other in sites}
    shared = set().union(*(ids[other] for other in ids if other != site))
    return {name for name, parameter in model.named_parameters() if id(parameter) in ids[site] - shared}


def _change(model: nn.Module, names: set[str]) -> None:
    """Adds noise of half their size to the named parameters."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in names:
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                parameter += 0.5 * (parameter.abs().mean() + 0.1) * noise


def _activity(trial: Trial, learner: Learner, site: str) -> Tensor:
    """Inputs and outputs of all calls of a site."""
    with trial.same_random_state(), torch.no_grad():
        calls, _ = record(fresh(learner).model, {}, [site], trial.args, trial.kwargs)
    return torch.cat([vector for call in calls for vector in (call.inputs.vector, call.output.vector)])


def _taught(trial: Trial, learner: Learner, error: Tensor, names: set[str]) -> Gradients:
    """The update of the named parameters by a given output error."""
    pack(trial.run(learner)).vector.backward(error)
    return {name: gradient for name, gradient in gradients(learner.model).items() if name in names}
