"""The sound protocol: what a careful researcher would report."""

from itertools import islice

import torch

from widealign.config import RunConfig
from widealign.nn import BatchAxisNorm, gather_statistics
from widealign.train.optimizers import make_optimizer, make_schedule
from widealign.train.protocols.options import make_learner
from widealign.train.protocols.prepared import Prepared, describe, evaluate, forward_of, precision
from widealign.train.protocols.tasks import Task
from widealign.train.protocols.worth import NOT_TESTED, Worth
from widealign.train.record import Criterion
from widealign.train.stream import Stream
from widealign.train.trial import Examples, Figures, Trial

_EVALUATION_BATCH = 500
_STATISTICS_EXAMPLES = 5000  # their mean and variance are known to about 1 %, and an epoch stays cheap


def prepare_sound(config: RunConfig, task: Task, device: torch.device) -> Prepared:
    """Validation chooses learning rate and epoch; the real test set is only reported.

    Evaluation does not depend on how images are batched: normalisers take statistics that are gathered on training
    data, in their own order and the training's batch size, before each evaluation. Validation looks at every epoch; the
    test set too, unless only the epochs that can be chosen are asked for.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = task.network().to(device)
    learner = make_learner(config, model)
    forward = forward_of(learner, config, device)
    optimizer = make_optimizer(config, learner.parameters())
    size = config.batch_size or 1
    steps = len(task.train) // size
    stream = Stream(config.seed)
    chosen_by = "val_loss" if config.task == "add" else "val_acc"
    worth = Worth(chosen_by, epochs=config.epochs, always=config.evaluated == "every-epoch")
    normalised = any(isinstance(module, BatchAxisNorm) for module in model.modules())

    def judge(name: str, examples: Examples) -> Figures:
        batches = examples.batches(torch.arange(len(examples)), _EVALUATION_BATCH)
        loss, accuracy = evaluate(forward, task.loss, batches)
        return {f"{name}_loss": loss, f"{name}_acc": accuracy}

    def evaluate_all() -> Figures:
        if normalised:
            every = task.train.batches(torch.arange(steps * size), size)
            some = islice(every, max(1, _STATISTICS_EXAMPLES // size))
            with precision(config, device):
                gather_statistics(model, (batch.inputs for batch in some))
        validation = {} if task.validation is None else judge("val", task.validation)
        tested = worth.testing(validation.get(chosen_by))
        return {**(judge("eval", task.evaluation) if tested else NOT_TESTED), **validation}

    trial = Trial(
        learner=learner,
        forward=forward,
        loss=task.loss,
        optimizer=optimizer,
        schedule=make_schedule(config, optimizer, steps * config.epochs),
        examples=task.train,
        batch_size=size,
        epochs=config.epochs,
        order=lambda: stream.permutation(len(task.train)),
        evaluate=evaluate_all,
        streams={"numpy": stream, "worth": worth},
    )
    return Prepared(
        trial=trial,
        criterion=Criterion(figure=chosen_by, same_epoch=True),
        description=describe(task, evaluated=len(task.evaluation), steps_per_epoch=steps),
    )
