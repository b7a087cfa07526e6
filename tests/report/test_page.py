"""The page: its words, and what it asks of the world (nothing)."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from widealign.errors import UsageError
from widealign.report.command import report
from widealign.report.origin import origin
from widealign.report.page import write_page

WANTED = (("table-6", "paper"), ("figure-6", "desk"), ("table-2", "desk"), ("theory-1", "desk"), ("speed-1", "desk"))


@pytest.fixture(scope="module")
def page(tmp_path_factory, make_contents):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(make_contents(*WANTED, drop=lambda config: config.width == 512), path)
    return path


def test_it_asks_for_nothing(page):
    html = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](https?:)?//""", html)
    assert "default-src 'none'" in html
    assert "@import" not in html


def test_it_says_where_the_numbers_come_from(page):
    html = page.read_text()
    for words in ("0123456789ab", "torch 2.13.0", "Linux x86_64", "99–104", "Scale: paper, desk", "95 % interval"):
        assert words in html, words


def test_it_says_what_each_scale_spends_and_how_far_seeds_lie_apart(page):
    html = re.sub(r"\s+", " ", page.read_text())
    assert re.search(r"runs finished · \d+ epochs, \d+ images, width 32, learning rate 5, seeds 100–104", html)
    assert "Mean ± standard deviation over 5 seeds" in html
    figure = html[html.index('id="figure-6"') : html.index('id="theory-1"')]
    assert "The first n training images" in figure
    assert "One seed a cell: the spread is not known." in figure


def test_files_beside_it_are_all_there(page):
    links = re.findall(r'href="(report-files/[^"]+)"', page.read_text())
    assert links
    assert all((page.parent / link).stat().st_size > 100 for link in links)
    beside = {path.name for path in (page.parent / "report-files").iterdir()}
    assert beside == {link.removeprefix("report-files/") for link in links}


def test_experiments_without_runs_say_how_to_get_them(page):
    html = page.read_text()
    assert "widealign reproduce table-8" in html
    assert "widealign reproduce table-6</code>" not in html


def test_missing_cells_and_agreement_are_shown(page):
    html = page.read_text()
    assert html.count('class="agrees"') > 20
    assert ' none" title="missing: 0 of 3 runs"' in html


def test_the_same_store_gives_the_same_bytes(page, tmp_path, make_contents):
    write_page(make_contents(*WANTED, drop=lambda config: config.width == 512), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == page.read_bytes()


def test_an_empty_store_gives_a_page_that_says_so(tmp_path, make_contents):
    write_page(make_contents(), tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "Not run yet" in html
    assert "widealign reproduce table-1" in html


def test_the_command_needs_a_store(tmp_path):
    with pytest.raises(UsageError, match="There is no store at"):
        report(store=tmp_path / "none")


def test_the_command_needs_a_place(tmp_path):
    (tmp_path / "store").mkdir()
    with pytest.raises(UsageError, match="--out must be a file"):
        report(store=tmp_path / "store", out=tmp_path / "no" / "page.html")


def test_making_a_page_needs_no_torch(tmp_path):
    (tmp_path / "store").mkdir()
    code = (
        "import sys; from pathlib import Path; from widealign.report.command import report; "
        f"report(store=Path({str(tmp_path / 'store')!r}), out=Path({str(tmp_path / 'r.html')!r})); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_equal_versions_are_named_once_in_whatever_order_they_were_kept(make_contents):
    records = list(make_contents(("table-8", "smoke")).finished.values())[:2]
    versions = {"torch": "2.13.0", "numpy": "2.4.6"}
    kept = [versions, dict(reversed(versions.items()))]
    records = [replace(r, origin={**r.origin, "versions": v}) for r, v in zip(records, kept, strict=True)]
    assert dict(origin(records))["versions"] == "numpy 2.4.6 · torch 2.13.0"
