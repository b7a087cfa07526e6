"""What is inside of a learner, whatever is wrapped around it."""

from torch import nn
from torch._dynamo.eval_frame import OptimizedModule
from torch.nn.parallel import DistributedDataParallel

from widealign.rules.learner import Learner


def learner_of(module: nn.Module) -> nn.Module:
    """The learner, or the plain model, inside of `torch.compile` and `DistributedDataParallel`."""
    while isinstance(module, OptimizedModule | DistributedDataParallel):
        module = module._orig_mod if isinstance(module, OptimizedModule) else module.module
    return module


def model_of(module: nn.Module) -> nn.Module:
    """The user's model: what a learner is wrapped around, or the plain model itself."""
    inner = learner_of(module)
    return inner.model if isinstance(inner, Learner) else inner
