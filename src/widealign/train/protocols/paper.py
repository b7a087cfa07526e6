"""The paper's protocol: what the authors' scripts do, down to the random stream."""

import torch

from widealign import rules
from widealign.config import RunConfig
from widealign.train.optimizers import make_optimizer, make_schedule
from widealign.train.protocols.draws import draw_network
from widealign.train.protocols.options import make_learner
from widealign.train.protocols.prepared import Prepared, describe, evaluate, forward_of
from widealign.train.protocols.tasks import Task
from widealign.train.record import Criterion
from widealign.train.stream import Stream
from widealign.train.trial import Figures, Trial


def prepare_paper(config: RunConfig, task: Task, device: torch.device) -> Prepared:
    """The first draws of RandomState(seed) are the weights; training begins with the same seed again."""
    learner = _learner(config, task, device)
    forward = forward_of(learner, config, device)
    optimizer = make_optimizer(config, learner.parameters())
    size = config.batch_size or 1
    steps = len(task.train) // size
    stream = Stream(config.seed)
    # The script for Add looks at the test sequences first, then goes through the training sequences once more.
    walks = {"eval": task.evaluation} | ({"train": task.train} if config.task == "add" else {})

    def evaluate_all() -> Figures:
        figures: Figures = {}
        for name, examples in walks.items():
            order = stream.permutation(len(examples))
            whole = len(examples) // size * size or len(examples)
            batches = examples.batches(order[:whole], size)
            figures[f"{name}_loss"], figures[f"{name}_acc"] = evaluate(forward, task.loss, batches)
        return figures

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
        streams={"numpy": stream},
    )
    evaluated = len(task.evaluation) // size * size or len(task.evaluation)
    return Prepared(
        trial=trial,
        criterion=Criterion(figure="eval_loss" if config.task == "add" else "eval_acc", same_epoch=False),
        description=describe(task, evaluated=evaluated, steps_per_epoch=steps),
    )


def _learner(config: RunConfig, task: Task, device: torch.device) -> rules.Learner:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)  # for what the scripts do not draw
        model = task.network().to(device)
    shared = config.task == "imagenet"
    drawn = draw_network(
        model, Stream(config.seed), rule=config.rule, input_shape=task.input_shape, outputs=task.outputs, shared=shared
    )
    if config.task == "add" and config.rule == "last-layer":
        # Readout-only also trains the initial state there, by backpropagation through the fixed recurrent weights.
        model.get_submodule("cell").requires_grad_(False)
        return make_learner(config, model, rule="normal")
    if config.rule == "dfa":
        drawn["shared_over_space"] = shared
    return make_learner(config, model, **drawn)
