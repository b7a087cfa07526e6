"""The check that every label names a class."""

from pathlib import Path

from torch import Tensor

from widealign.data.gunzip import damaged


def require_labels(labels: Tensor, num_classes: int, path: Path, *, first_byte: int, stride: int) -> None:
    """Raise unless every label is below `num_classes`. Label i lies at byte `first_byte + i * stride` of its file.

    Raises:
        DataError: names the first label out of range, its byte, and how many there are.
    """
    wrong = (labels >= num_classes).nonzero().flatten()
    if len(wrong) == 0:
        return
    index = int(wrong[0])
    content = " of the decompressed content" if path.suffix == ".gz" else ""
    raise damaged(
        path,
        f"label out of range at byte {first_byte + index * stride}{content}: example {index} has label "
        f"{int(labels[index])}, expected 0 to {num_classes - 1} ({len(wrong)} such labels)",
    )
