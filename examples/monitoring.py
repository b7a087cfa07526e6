"""Watch alignment in your own loop, and ask at the end how far the network has left the wide regime."""

import torch

import widealign


def main():
    torch.manual_seed(0)
    model = widealign.models.mlp(20, widths=(256, 256), num_classes=3)
    learner = widealign.Normal(model)  # or any other rule
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    monitor = widealign.AlignmentMonitor(learner, optimizer, every=50)

    x = torch.randn(300, 20)
    y = torch.nn.functional.one_hot((x @ torch.randn(20, 3)).argmax(1), 3).float()
    for step in range(1, 201):
        loss = widealign.mse(learner(x), y)
        optimizer.zero_grad()
        loss.backward()
        monitor.step(x, y, loss)
        optimizer.step()
        if step % 50 == 0:
            scores = "  ".join(f"layer {record['layer']}: {record['score']:.3f}" for record in monitor.latest)
            print(f"step {step:3d}  loss {loss.item():.3f}  score {scores}")

    print(monitor.regime(x))


if __name__ == "__main__":
    main()
