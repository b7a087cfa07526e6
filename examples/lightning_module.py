"""PyTorch Lightning: wrap the model in the module's __init__, change nothing else. Needs `pip install lightning`."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import widealign


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        model = widealign.models.mlp(20, widths=(256, 256), num_classes=3)
        self.learner = widealign.AlignAda(model)  # the one line

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.learner(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("accuracy", (self.learner(x).argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=2.0)


def main():
    lightning.seed_everything(0, verbose=False)
    x = torch.randn(600, 20)
    data = TensorDataset(x, (x @ torch.randn(20, 3)).argmax(1))
    train, validation = torch.utils.data.random_split(data, [500, 100])
    trainer = lightning.Trainer(
        max_epochs=5, accelerator="auto", logger=False, enable_checkpointing=False, enable_model_summary=False
    )
    module = Classifier()
    trainer.fit(module, DataLoader(train, 50, shuffle=True), DataLoader(validation, 100))
    print(f"accuracy {trainer.callback_metrics['accuracy'].item():.2f}")


if __name__ == "__main__":
    main()
