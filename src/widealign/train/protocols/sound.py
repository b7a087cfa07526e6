"""The sound protocol: what a careful researcher would report."""

from itertools import islice

import torch

from widealign.config import RunConfig
from widealign.nn import BatchAxisNorm, gather_statistics
from widealign.train.optimizers import make_optimizer, make_schedule
from widealign.train.protocols.chosen import ChosenEpoch
from widealign.train.protocols.options import make_learner
from widealign.train.protocols.prepared import Prepared, describe, evaluate, forward_of, precision
from widealign.train.protocols.tasks import Task
from widealign.train.record import Criterion
from widealign.train.stream import Stream
from widealign.train.trial import Examples, Figures, Trial

_EVALUATION_BATCH = 500
_NOT_TESTED: Figures = {"eval_loss": None, "eval_acc": None}
_STATISTICS_EXAMPLES = 5000  # their mean and variance are known to about 1 %, and an epoch stays cheap


def prepare_sound(config: RunConfig, task: Task, device: torch.device) -> Prepared:
    """Validation chooses learning rate and epoch; the real test set is only reported.

    Evaluation does not depend on how images are batched: normalisers take statistics that are gathered on training
    data, in their own order and the training's batch size, before each evaluation. Validation looks at every epoch; the
    test set too, unless only the epoch that validation chooses and the last one are asked for.
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
    chosen = None if config.evaluated == "every-epoch" else ChosenEpoch(model, chosen_by)
    normalised = any(isinstance(module, BatchAxisNorm) for module in model.modules())

    def judge(name: str, examples: Examples) -> Figures:
        batches = examples.batches(torch.arange(len(examples)), _EVALUATION_BATCH)
        loss, accuracy = evaluate(forward, task.loss, batches)
        return {f"{name}_loss": loss, f"{name}_acc": accuracy}

    def gather() -> None:
        if normalised:
            every = task.train.batches(torch.arange(steps * size), size)
            some = islice(every, max(1, _STATISTICS_EXAMPLES // size))
            with precision(config, device):
                gather_statistics(model, (batch.inputs for batch in some))

    def evaluate_epoch() -> Figures:
        gather()
        validation = {} if task.validation is None else judge("val", task.validation)
        if chosen is not None:
            chosen.offer(validation.get(chosen_by))
        tested = chosen is None or chosen.seen == config.epochs
        return {**(judge("eval", task.evaluation) if tested else _NOT_TESTED), **validation}

    def test_chosen() -> Figures:
        if chosen is None or chosen.epoch is None:
            return {}
        chosen.swap()
        gather()
        figures = judge("eval", task.evaluation)
        chosen.swap()
        return {"epoch": chosen.epoch, **figures}

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
        evaluate=evaluate_epoch,
        conclude=test_chosen,
        streams={"numpy": stream} | ({} if chosen is None else {"chosen epoch": chosen}),
    )
    return Prepared(
        trial=trial,
        criterion=Criterion(figure=chosen_by, same_epoch=True),
        description=describe(task, evaluated=len(task.evaluation), steps_per_epoch=steps),
    )
