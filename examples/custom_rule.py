"""A rule of your own in a few lines: feedback that is the initial weight in nine levels.

The rule is in the registry as soon as the class exists: `widealign.rules.make("coarse", model)`.
"""

import torch
from torch import nn

import widealign
from widealign.rules import AlignProp, Axes


class Coarse(AlignProp, id="coarse"):
    """B is W(0) in nine levels, from -max |W(0)| to max |W(0)|: weights as coarse as hardware may have."""

    axes = Axes(feedback="initial, in nine levels", gate="live", normaliser="live", activity="live")

    def substitutes(self):
        return {name: nine_levels(weight) for name, weight in super().substitutes().items()}


def nine_levels(weight):
    step = weight.abs().max().clamp(min=1e-30) / 4
    return (weight / step).round() * step


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 20)
    y = (x @ torch.randn(20, 3)).argmax(1)
    for rule in ("normal", "align-prop", "coarse", "last-layer"):
        torch.manual_seed(1)
        model = widealign.models.mlp(20, widths=(256, 256), num_classes=3)
        learner = widealign.rules.make(rule, model)
        optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
        for _ in range(100):
            loss = nn.functional.cross_entropy(learner(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{rule:10s}  loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
