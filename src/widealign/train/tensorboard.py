"""The epoch figures for TensorBoard: the extra `logs`."""

from pathlib import Path
from typing import Any

from widealign.errors import UsageError
from widealign.train.loop import EpochEnd


class Board:
    """Writes each figure as a scalar over epochs; epochs that are done again after a resume replace the old ones."""

    def __init__(self, folder: Path, *, first_epoch: int):
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise UsageError(
                "--tensorboard needs the tensorboard package: pip install 'widealign[logs]', or leave the option out"
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=first_epoch)

    def event(self, event: EpochEnd) -> None:
        """Write an epoch's figures and the observers' records."""
        for name, value in event.figures.items():
            if value is not None:
                self._writer.add_scalar(name, value, event.epoch)
        for record in event.records:
            for name, value in _scalars(record):
                self._writer.add_scalar(name, value, event.epoch)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def _scalars(record: Any) -> list[tuple[str, float]]:
    place = f"{record['kind']}/layer {record['layer']}" if "layer" in record else record["kind"]
    return [(f"{place}/{name}", value) for name, value in record.items() if isinstance(value, float)]
