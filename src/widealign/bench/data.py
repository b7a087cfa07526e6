"""The networks of the cases and data for them. Values are random: the time of a step does not depend on them."""

import torch
from torch import Tensor, nn

from widealign import models
from widealign.bench.cases import HEADS, Case

_STEPS, _TOKENS, _VOCABULARY, _PIXELS = 100, 16, 32, (3, 32, 32)


def model(case: Case, device: torch.device) -> nn.Module:
    """The network of a case; the same one at every call."""
    torch.manual_seed(0)
    match case.network:
        case "cnn":
            made = models.cifar_cnn(case.width)
        case "mlp":
            made = models.mlp(3072, [case.width] * 3, 10)
        case "rnn":
            made = models.add_rnn(case.width, rows=case.batch)
        case "transformer":
            made = models.transformer(case.width, vocabulary=_VOCABULARY, length=_TOKENS, heads=HEADS)
    return made.to(device)


class Examples:
    """Training examples with numbers, handed out batch by batch, in turn."""

    def __init__(self, case: Case, device: torch.device):
        generator = torch.Generator().manual_seed(1)
        count = case.examples
        match case.network:
            case "cnn" | "mlp":
                x, outputs = torch.randn(count, *_PIXELS, generator=generator), (10,)
            case "rnn":
                x, outputs = torch.randint(2, (count, _STEPS), generator=generator).float(), (_STEPS,)
            case "transformer":
                x, outputs = torch.randint(_VOCABULARY, (count, _TOKENS), generator=generator), (_TOKENS, _VOCABULARY)
        self.x, self.y = x.to(device), torch.randn(count, *outputs, generator=generator).to(device)
        whole = count - count % case.batch  # a smaller last batch would be another measurement
        self.batches = torch.arange(whole, device=device).split(case.batch)

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, targets and numbers of the batch of a step."""
        rows = self.batches[step % len(self.batches)]
        return self.x[rows], self.y[rows], rows

    def __len__(self) -> int:
        """Batches until every example has been seen."""
        return len(self.batches)
