"""The first five minutes: three small experiments on bundled data, and the page that shows them."""

import webbrowser
from pathlib import Path

from widealign.arguments import Whole
from widealign.report.command import report
from widealign.sweep.command import reproduce

EXPERIMENTS = ("demo-1", "demo-2", "demo-3")


def demo(*, out: Path = Path("demo"), workers: Whole | None = None, browse: bool = False) -> None:
    """Train digits by seven rules, the Add task by four, measure alignment, and write a page about it.

    Needs no download, and about three minutes on two cores. Stop it and call it again: it goes on where it was.

    Args:
        out: Folder for the runs and for report.html.
        workers: Runs at a time; one for each core if not given.
        browse: Open the page in a browser at the end.
    """
    out.mkdir(parents=True, exist_ok=True)
    reproduce(*EXPERIMENTS, scale="smoke", workers=workers, store=out / "store")
    page = out / "report.html"
    report(store=out / "store", out=page)
    if browse:
        webbrowser.open(page.resolve().as_uri())
