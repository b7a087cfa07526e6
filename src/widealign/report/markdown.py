"""The report as Markdown: tables, figures, claims. For a repository's own pages; the HTML page shows more."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from widealign.experiments import Scale
from widealign.report.origin import origin
from widealign.report.sections import Section, gather
from widealign.report.shown import Shown
from widealign.report.speed import SpeedTable
from widealign.report.tables import Table, TableCell
from widealign.sweep import Contents

_MARK = {"agrees": " ✓", "near": " ≈", "differs": " ✗", "": ""}
_HEAD = """# Results

Every table and figure of *How to Train Your Wide Neural Network Without Backprop* that has results in this store. This
page is written by `widealign report`; nothing in it was typed by hand. The sentence below a title says what the paper
did, the line that begins with a scale what was done here.

A cell is ours, ± its spread over seeds, and in brackets the number that the paper prints. ✓ is within twice the spread
over seeds (or, with one seed, within the table's tolerance), ≈ within twice that, ✗ beyond. No mark: ours had fewer
images or epochs than the paper's, so the difference says little. † diverged after its best epoch. *Slanted* numbers
wait for some of their runs.
"""


def write_markdown(contents: Contents, out: Path, only: Scale | None = None) -> tuple[Section, ...]:
    """Write the results to `out`, and figures and data to a folder beside it, as with the page."""
    sections = tuple(section for section in gather(contents, out, only) if section.blocks)
    facts = [f"- {name}: {text}" for name, text in origin(contents.finished.values())]
    lines = [_HEAD, *facts, *(line for section in sections for line in _section(section))]
    out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return sections


def _section(section: Section) -> Iterator[str]:
    yield from ("", f"## {section.name}: {section.experiment.title}", "", section.experiment.about)
    for block in section.blocks:
        yield from _block(section, block)


def _block(section: Section, block: Shown) -> Iterator[str]:
    if block.planned:
        spent = f" ({block.spent})" if block.spent else ""
        yield from ("", f"**{block.scale} scale**{spent}, {block.finished} of {block.planned} runs finished")
    for table in block.tables:
        yield from ("", f"*{table.title}: {table.unit}*", "", *_table(table))
        yield from ("", " ".join(table.notes)) if table.notes else ()
    for speed in block.speed:
        yield from ("", f"*{speed.network}: time of a step, in multiples of backprop's*", "", *_speed(speed))
    pictures = [path for label, path in block.files if label == "PNG"]
    for path in pictures:
        yield from ("", f"![{section.experiment.title}]({path})")
    yield from ("", " ".join(block.notes)) if block.notes else ()
    if block.verdicts:
        yield ""
    for claim, verdict in block.verdicts:
        yield f"- {claim.says} **{verdict.outcome.capitalize()}**: {verdict.because}."


def _table(table: Table) -> Iterator[str]:
    yield from _heads([table.axis or " ", *table.columns])
    for group, rows in table.groups:
        if group:
            yield _row([f"**{group}{' images' * group.isdigit()}**", *[""] * len(table.columns)])
        for label, cells in rows:
            yield _row([label, *map(_cell, cells)])


def _cell(cell: TableCell | None) -> str:
    if cell is None:
        return ""
    ours = f"*{cell.ours}*" if cell.partial else cell.ours
    paper = f" ({cell.paper})" if cell.paper else ""
    return f"{ours}{'†' * cell.diverged}{' ' * bool(cell.spread)}{cell.spread}{paper}{_MARK[cell.agreement]}"


def _speed(speed: SpeedTable) -> Iterator[str]:
    yield from _heads(speed.heads)
    for row in speed.rows:
        yield _row(row)


def _heads(texts: Sequence[str]) -> Iterator[str]:
    yield _row(texts)
    yield _row(["---", *["---:"] * (len(texts) - 1)])


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"
