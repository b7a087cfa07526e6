"""A loop as Hugging Face's Trainer runs it: a model called by keywords, which returns a dict.

The loss is computed outside of the model, as with `Trainer(compute_loss_func=...)`: Align-ada takes the error where it
leaves the model, and refuses models that return a loss of their own. Gradient accumulation, bf16 autocast, clipping, a
warm-up schedule, and a checkpoint that goes on exactly.
"""

import copy

import torch
from torch import nn

import widealign


class LanguageModel(nn.Module):
    """Next-token prediction; takes `input_ids=`, returns `{"logits"}`."""

    def __init__(self):
        super().__init__()
        self.transformer = widealign.models.transformer(64, vocabulary=16, length=12, depth=1)

    def forward(self, input_ids):
        return {"logits": self.transformer(input_ids)}


def compute_loss(outputs, labels):
    """Cross entropy of each token with the one that follows."""
    return nn.functional.cross_entropy(outputs["logits"][:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten())


def batches(count, seed):
    """Sequences that count up by one, modulo 16, from a random start."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        ids = (torch.randint(16, (32, 1), generator=generator) + torch.arange(12)) % 16
        yield {"input_ids": ids, "labels": ids}


def train(learner, steps=60, accumulate=2, seed=0):
    optimizer = torch.optim.AdamW(learner.model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=10)
    for micro, batch in enumerate(batches(steps * accumulate, seed), start=1):
        labels = batch.pop("labels")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = compute_loss(learner(**batch), labels)
        (loss / accumulate).backward()
        if micro % accumulate == 0:
            nn.utils.clip_grad_norm_(learner.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return loss.item()


def main():
    torch.manual_seed(0)
    start = LanguageModel()
    for rule in ("normal", "align-prop", "align-ada"):
        learner = widealign.rules.make(rule, copy.deepcopy(start))
        print(f"{rule:10s}  loss {train(learner):.3f}")

    restored = widealign.rules.make(rule, LanguageModel())
    restored.load_state_dict(learner.state_dict())
    print("goes on exactly:", train(restored, steps=3, seed=1) == train(learner, steps=3, seed=1))


if __name__ == "__main__":
    main()
