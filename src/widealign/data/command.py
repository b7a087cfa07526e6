"""The bodies of `widealign data fetch` and `widealign data verify`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from widealign.config import Task
from widealign.data.catalogue import Source, source_of
from widealign.data.checksum import require_official
from widealign.data.download import Progress as Report
from widealign.data.fetch import fetch_source
from widealign.data.locate import locate, roots
from widealign.errors import DataError


def fetch(task: Task, *, data_dir: Path | None = None) -> None:
    """Download a data set from its official address, check every file by md5, and put it in place.

    A transfer that breaks off goes on where it stopped when the command is given again. Files that are there already
    and are the official ones stay as they are.

    Args:
        task: which data set. digits and add need no download; imagenet cannot be downloaded without registering.
        data_dir: the folder to put it in (default: $WIDEALIGN_DATA, else ~/.cache/widealign).
    """
    console = Console(soft_wrap=True)
    root = roots(data_dir)[0]
    if task == "imagenet":
        raise DataError(
            "imagenet cannot be fetched: its owners ask everyone to register at https://image-net.org; "
            f"download it there and lay it out as {root / 'imagenet'}/{{train,val}}/CLASS/*.JPEG"
        )
    if task == "add" or not source_of(task).downloads:
        console.print(f"{task} needs no download")
        return
    source = source_of(task)
    fetched = fetch_source(source, root, lambda name: _display(console, name))
    what = f"fetched {len(fetched)} files" if fetched else "all files were there"
    console.print(f"{task}: {what}, md5 correct: {root / source.folder}", highlight=False)


def verify(task: Task, *, data_dir: Path | None = None, allow_unverified: bool = False) -> None:
    """Check a data set: every file's md5, header, size and labels.

    Args:
        task: which data set.
        data_dir: where to look first (then $WIDEALIGN_DATA, then ~/.cache/widealign).
        allow_unverified: files that are not the official ones give a warning instead of an error.
    """
    console = Console(soft_wrap=True)
    if task == "add":
        console.print("add is generated: there are no files to verify")
    elif task == "imagenet":
        _verify_folder(console, data_dir)
    else:
        _verify_files(console, source_of(task), data_dir, allow_unverified)


def _verify_files(console: Console, source: Source, data_dir: Path | None, allow_unverified: bool) -> None:
    from widealign.data.dataset import read  # imports torch: not for --help

    folder = locate(source, data_dir)
    dataset, checks = read(source, folder)
    console.print(str(folder), highlight=False)
    for entry in checks:
        console.print(f"  {entry.path.name}  {entry.md5}  {entry.verdict}", highlight=False)
    require_official(source.task, checks, allow_unverified=allow_unverified)
    console.print(
        f"{source.task}: {len(dataset.train_labels)} training and {len(dataset.test_labels)} test images, "
        f"{dataset.num_classes} classes",
        highlight=False,
    )


def _verify_folder(console: Console, data_dir: Path | None) -> None:
    from widealign.data.folders import image_folder

    found = image_folder(data_dir)
    console.print(
        f"{found.root}: {len(found.train)} training and {len(found.test)} test images, {found.num_classes} classes "
        "(no official md5: files are checked as they are read)",
        highlight=False,
    )


@contextmanager
def _display(console: Console, name: str) -> Iterator[Report]:
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        bar = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
