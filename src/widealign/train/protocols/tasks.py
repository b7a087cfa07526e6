"""Tasks: the data of a configuration as examples, and the network that goes with them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from widealign import models
from widealign.config import RunConfig
from widealign.data import (
    EvaluationImages,
    InMemory,
    Split,
    TrainImages,
    add_task,
    image_folder,
    load,
    split,
)
from widealign.losses import mse
from widealign.train.protocols.examples import DecodedImages, Sequences, StoredImages, class_targets
from widealign.train.trial import Examples

_SHIFT = 0.1  # the scripts' one-hot targets are 0.9 and -0.1, but on ImageNet 1 and 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """What a task brings to a run.

    Attributes:
        network: builds the network, with weights from torch's generator.
        input_shape: of one example.
        outputs: how many numbers the network gives for an example.
        files: the md5 of each data file by its name.
    """

    network: Callable[[], nn.Module]
    input_shape: tuple[int, ...]
    outputs: int
    loss: Callable[[Tensor, Tensor], Tensor]
    train: Examples
    validation: Examples | None
    evaluation: Examples
    split: Split
    files: Mapping[str, str]


def load_task(config: RunConfig, *, device: torch.device, data_dir: Path | None, allow_unverified: bool) -> Task:
    """Read a task's data, and split them as the protocol says."""
    if config.task == "add":
        return _add(config, device)
    if config.task == "imagenet":
        return _image_folder(config, device, data_dir)
    return _stored(config, device, data_dir, allow_unverified)


def summed_over_time(output: Tensor, answers: Tensor) -> Tensor:
    """The Add task's loss: the sum over time steps of the mean over the batch of (f - y)^2. Both (batch, steps)."""
    return (output - answers).square().mean(0).sum()


def _stored(config: RunConfig, device: torch.device, data_dir: Path | None, allow_unverified: bool) -> Task:
    data = load(config.task, data_dir=data_dir, allow_unverified=allow_unverified)
    parts = {"train": (data.train_images, data.train_labels), "test": (data.test_images, data.test_labels)}
    chosen = _split(config, len(data.train_labels), len(data.test_labels))
    targets = class_targets(data.num_classes, shift=_SHIFT, loss=config.loss, device=device)

    def examples(source: str, indices: np.ndarray) -> StoredImages:
        images, labels = parts[source]
        rows = torch.from_numpy(indices)
        return StoredImages(images=InMemory(images[rows], labels[rows], device), targets=targets)

    return Task(
        network=partial(_image_network, config, tuple(data.train_images.shape[1:]), data.num_classes),
        input_shape=tuple(data.train_images.shape[1:]),
        outputs=data.num_classes,
        loss=_image_loss(config),
        train=examples("train", chosen.train),
        validation=None if chosen.validation is None else examples("train", chosen.validation),
        evaluation=examples(chosen.evaluation_source, chosen.evaluation),
        split=chosen,
        files=data.files,
    )


def _image_folder(config: RunConfig, device: torch.device, data_dir: Path | None) -> Task:
    folder = image_folder(data_dir)
    chosen = _split(config, len(folder.train), len(folder.test))
    targets = class_targets(folder.num_classes, shift=0.0, loss=config.loss, device=device)
    at_random = TrainImages(images=folder.train, seed=config.seed)
    centred = {"train": EvaluationImages(images=folder.train), "test": EvaluationImages(images=folder.test)}

    def examples(images: TrainImages | EvaluationImages, indices: np.ndarray) -> DecodedImages:
        return DecodedImages(images=images, indices=torch.from_numpy(indices), targets=targets, device=device)

    shape = (3, at_random.size, at_random.size)
    return Task(
        network=partial(_image_network, config, shape, folder.num_classes),
        input_shape=shape,
        outputs=folder.num_classes,
        loss=_image_loss(config),
        train=examples(at_random, chosen.train),
        validation=None if chosen.validation is None else examples(centred["train"], chosen.validation),
        evaluation=examples(centred[chosen.evaluation_source], chosen.evaluation),
        split=chosen,
        files={part: of.digest() for part, of in (("train", folder.train), ("val", folder.test))},
    )


def _add(config: RunConfig, device: torch.device) -> Task:
    data = add_task(config.seed, correct_targets=config.protocol == "sound")
    parts = {"train": (data.train_inputs, data.train_targets), "test": (data.test_inputs, data.test_targets)}
    chosen = _split(config, len(data.train_inputs), len(data.test_inputs))

    def examples(source: str, indices: np.ndarray) -> Sequences:
        inputs, answers = (part[torch.from_numpy(indices)].to(device) for part in parts[source])
        return Sequences(inputs=inputs, answers=answers)

    printed = config.protocol == "paper" and config.rule == "align-ada"
    # The script has one row of initial state for each row of a batch; under the sound protocol all sequences share it.
    rows = (config.batch_size or 1) if config.protocol == "paper" else 1
    return Task(
        network=partial(models.add_rnn, config.width, rows=rows, printed_align_ada=printed),
        input_shape=tuple(data.train_inputs.shape[1:]),
        outputs=data.train_inputs.shape[1],
        loss=summed_over_time,
        train=examples("train", chosen.train),
        validation=None if chosen.validation is None else examples("train", chosen.validation),
        evaluation=examples(chosen.evaluation_source, chosen.evaluation),
        split=chosen,
        files={},
    )


def _split(config: RunConfig, num_train: int, num_test: int) -> Split:
    return split(config.task, config.protocol, config.data_limit, config.seed, num_train, num_test)


def _image_network(config: RunConfig, shape: tuple[int, ...], num_classes: int) -> nn.Module:
    style = {"activation": config.activation, "parameterization": config.parameterization}
    if config.task == "digits":
        return models.mlp(int(np.prod(shape)), (config.width, config.width), num_classes, **style)
    builders = {"cifar10": models.cifar_cnn, "imagenet": models.imagenet_cnn}
    build = builders.get(config.task, models.kmnist_cnn)
    return build(config.width, num_classes=num_classes, in_channels=shape[0], **style)


def _image_loss(config: RunConfig) -> Callable[[Tensor, Tensor], Tensor]:
    return mse if config.loss == "mse" else nn.functional.cross_entropy
