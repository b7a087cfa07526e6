"""`widealign report`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from widealign.errors import UsageError
from widealign.experiments import Scale
from widealign.sweep import Store, console

_NAMED = 3


def report(*, store: Path | None = None, out: Path = Path("report.html"), scale: Scale | None = None) -> None:
    """Write one page with every table and figure that has results, beside the paper's numbers.

    Args:
        store: Folder of the runs; $WIDEALIGN_STORE or ./store if not given.
        out: The page; Markdown if its name ends with .md. Figures as PNG and PDF and all data as CSV go to a folder
            beside it.
        scale: Show this scale only; every one that has results if not given.
    """
    write_page = _page_writer(out)
    screen, place = console(), Store(store or Path(os.environ.get("WIDEALIGN_STORE", "store")))
    if not place.path.is_dir():
        raise UsageError(
            f"There is no store at {place.path}. `widealign reproduce` makes one; name another by --store."
        )
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"--out must be a file in a folder that exists; given {out}.")
    contents = place.read()
    for damage, names in _by_damage(contents.damaged).items():
        few = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        screen.print(Text(f"left out, damaged: {few}: {damage}", style="yellow"))
    sections = write_page(contents, out, scale)
    screen.print(f"{len(contents.finished)} runs, {len(sections)} tables and figures: {out.resolve()}", soft_wrap=True)


def _by_damage(damaged: Mapping[str, str]) -> dict[str, list[str]]:
    """What is wrong, and with which runs: a store of another version has the same wrong with every one."""
    found: dict[str, list[str]] = {}
    for name, damage in damaged.items():
        found.setdefault(damage, []).append(name)
    return found


def _page_writer(out: Path) -> Callable[..., Sequence[object]]:
    """Found only when it is called: the libraries that draw are an extra."""
    try:
        from widealign.report.markdown import write_markdown
        from widealign.report.page import write_page
    except ModuleNotFoundError as error:
        raise UsageError(f"The report needs {error.name}: pip install 'widealign[report]'.") from None
    return write_markdown if out.suffix == ".md" else write_page
