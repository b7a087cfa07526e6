"""Your own model, your own loop; one line makes it learn by Align-ada."""

import torch
from torch import nn

import widealign

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(inplace=True), nn.LayerNorm(256), nn.Linear(256, 3))

learner = widealign.AlignAda(model)  # the one line
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

x = torch.randn(300, 20)
y = (x @ torch.randn(20, 3)).argmax(1)
for step in range(200):
    rows = torch.randint(300, (50,))
    loss = nn.functional.cross_entropy(learner(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()  # not backpropagation: the rule's update
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d}  loss {loss.item():.3f}")

widealign.explain(learner)
print(widealign.check(learner, x[:6], y[:6], nn.functional.cross_entropy))

learner.eval()
print(f"accuracy {(learner(x).argmax(1) == y).float().mean().item():.2f}")
