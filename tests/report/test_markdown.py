"""The Markdown report says the same as the page."""

import re

from widealign.report.markdown import write_markdown

WANTED = (("table-6", "paper"), ("table-2", "desk"), ("theory-1", "desk"), ("speed-1", "desk"))


def test_tables_have_ours_and_the_papers_numbers(tmp_path, make_contents):
    path = tmp_path / "results.md"
    write_markdown(make_contents(*WANTED), path)
    text = path.read_text()
    row = next(line for line in text.splitlines() if line.startswith("| Align-ada |"))
    assert re.search(r"\| \d+\.\d \(\d+\.\d\) [✓≈✗] \|", row), row
    assert "### " not in text
    assert "## Table 6: Accuracy against width, CIFAR-10" in text
    assert "5 seeds" in text


def test_every_row_of_a_table_has_as_many_cells_as_its_head(tmp_path, make_contents):
    path = tmp_path / "results.md"
    write_markdown(make_contents(*WANTED), path)
    tables = re.findall(r"(?:^\|.*\n)+", path.read_text(), flags=re.MULTILINE)
    assert len(tables) >= 3
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_pictures_and_claims_are_there(tmp_path, make_contents):
    path = tmp_path / "results.md"
    write_markdown(make_contents(*WANTED), path)
    text = path.read_text()
    pictures = re.findall(r"!\[.*\]\((.*)\)", text)
    assert pictures
    assert all((tmp_path / picture).exists() for picture in pictures)
    assert "**Holds**: measured exponent −1.02" in text


def test_every_scale_says_what_was_done(tmp_path, make_contents):
    path = tmp_path / "results.md"
    write_markdown(make_contents(*WANTED), path)
    text = path.read_text()
    assert "**desk scale** (50 epochs, 150 images, width 32, learning rate 5, seeds 100–104), 25 of 25 runs" in text
    assert "**paper scale** (150 epochs, all images, widths 8 to 512, learning rates 1, 2, 5, seed 99)" in text


def test_notes_of_what_is_only_drawn_stand_below_the_picture(tmp_path, make_contents):
    path = tmp_path / "results.md"
    write_markdown(make_contents(("figure-5", "smoke")), path)
    assert "says nothing of ImageNet" in path.read_text().partition("![Training loss on ImageNet]")[2]
