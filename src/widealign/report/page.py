"""The page: every experiment that has results, as one self-contained HTML file."""

from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from widealign.experiments import Scale
from widealign.report.origin import origin
from widealign.report.sections import Section, gather
from widealign.sweep import Contents


def write_page(contents: Contents, out: Path, only: Scale | None = None) -> tuple[Section, ...]:
    """Write the page and, in a folder beside it, each figure as PNG and PDF and all data as CSV.

    The same store gives the same bytes: nothing on the page depends on when it was made.
    """
    every = gather(contents, out, only)
    sections = tuple(section for section in every if section.blocks)
    html = _template().render(
        sections=sections,
        missing=tuple(section for section in every if not section.blocks and section.experiment.in_all),
        facts=origin(contents.finished.values()),
        scales=_scales(sections),
        titles={grid.name: grid.title for section in sections for grid in section.experiment.grids},
        counts=Counter(verdict.outcome for s in sections for b in s.blocks for _, verdict in b.verdicts),
    )
    out.write_text(html, encoding="utf-8")
    return sections


def _scales(sections: tuple[Section, ...]) -> tuple[str, ...]:
    scaled = [section for section in sections if section.experiment.in_all and not section.experiment.drawing]
    seen = {block.scale for section in scaled for block in section.blocks}
    return tuple(scale for scale in ("paper", "desk", "smoke") if scale in seen)


@cache
def _asset(name: str) -> str:
    return (files("widealign.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html", globals={"asset": lambda name: Markup(_asset(name))})
