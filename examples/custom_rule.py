"""A rule of your own in a few lines: feedback that is the initial weight at a quarter of its precision.

The rule is in the registry as soon as the class exists: `widealign.rules.make("coarse", model)`.
"""

import torch
from torch import nn

import widealign
from widealign.rules import AlignProp, Axes


class Coarse(AlignProp, id="coarse"):
    """B = round(4 W(0)) / 4: backward weights with few levels, as hardware has them."""

    axes = Axes(feedback="initial, rounded", gate="live", normaliser="live", activity="live")

    def substitutes(self):
        return {name: (4 * weight).round() / 4 for name, weight in super().substitutes().items()}


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
