"""Networks by name and width: the paper's, and others to show that the rules take any model."""

from widealign.models.add_rnn import AddRNN, add_rnn
from widealign.models.cnn import CNN, cifar_cnn, imagenet_cnn, kmnist_cnn
from widealign.models.mlp import MLP, mlp
from widealign.models.resnet import ResNet, resnet
from widealign.models.transformer import Transformer, transformer

__all__ = [
    "CNN",
    "MLP",
    "AddRNN",
    "ResNet",
    "Transformer",
    "add_rnn",
    "cifar_cnn",
    "imagenet_cnn",
    "kmnist_cnn",
    "mlp",
    "resnet",
    "transformer",
]
