"""The figures of docs/performance.md from rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bench" / "performance_table.py"
SETTING = {
    "machine": "a processor",
    "system": "Linux",
    "threads": 1,
    "precision": "float32",
    "clock": "wall",
    "freed": "kept",
}

pytestmark = pytest.mark.quick


def row(network: str, width: int, rule: str, mode: str, ratio: float, batch: int, examples: int) -> dict:
    return {"network": network, "width": width, "rule": rule, "mode": mode, "ratio": ratio, "floor": 1.0} | {
        "batch_size": batch, "examples": examples, "peak_ratio": 2.0, "counted": None if mode == "compiled" else 1.25,
        "setting": {**SETTING, "versions": {"torch": "2.13.0"}},
    }  # fmt: skip


ROWS = [
    row("cnn", 8, "normal", "plain", 1.0, 100, 200),
    row("cnn", 8, "align-ada", "plain", 1.61, 100, 200),
    row("cnn", 64, "normal", "plain", 1.0, 100, 200),
    row("cnn", 64, "align-ada", "plain", 1.42, 100, 200),
    row("cnn", 64, "align-ada", "compiled", 1.11, 100, 200),
    row("mlp", 2048, "align-zero", "dual", 0.48, 50, 450),
    row("mlp", 2048, "align-zero", "dual", 0.36, 50, 150) | {"floor": 0.38},
]


def written(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "bench.json").write_text(json.dumps(ROWS))
    command = [sys.executable, str(SCRIPT), str(tmp_path / "bench.json"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_one_line_a_rule_and_mode_with_a_column_for_each_width(tmp_path):
    lines = written(tmp_path).stdout.splitlines()
    assert (
        "a processor, Linux, 1 thread, float32; torch 2.13.0. Times by the wall clock; freed memory is kept." in lines
    )
    assert "| rule | mode | authors' scripts | 8 | 64 | floor | products | memory |" in lines
    assert "| align-ada | plain | 1.77 / 1.74 / 1.57 / 1.39 | 1.61 | 1.42 | 1.00 | 1.25 | 2.00 |" in lines
    assert "| align-ada | compiled |  |  | 1.11 | 1.00 |  | 2.00 |" in lines
    assert "| align-zero | dual | 0.36 | 0.48 | 0.38 → 1.00 | 1.25 | 2.00 |" in lines


def test_a_second_file_adds_what_the_first_has_not(tmp_path):
    (tmp_path / "more.json").write_text(json.dumps([row("cnn", 8, "normal", "compiled", 0.7, 100, 200), *ROWS[:1]]))
    lines = written(tmp_path, str(tmp_path / "more.json")).stdout.splitlines()
    first, second = (line for line in lines if line.startswith("| backprop |"))
    assert first.startswith("| backprop | plain |  | 1.00 | 1.00 |")
    assert second.startswith("| backprop | compiled |  | 0.70 |  |")


def test_the_page_keeps_its_words_and_gets_the_same_figures_again(tmp_path):
    page = tmp_path / "performance.md"
    page.write_text((ROOT / "docs" / "performance.md").read_text())
    written(tmp_path, "--into", str(page))
    once = page.read_text()
    written(tmp_path, "--into", str(page))
    assert page.read_text() == once
    assert "| align-ada | plain | 1.77 / 1.74 / 1.57 / 1.39 | 1.61 | 1.42 | 1.00 | 1.25 | 2.00 |" in once
    assert once.startswith("# Performance\n")
    assert "## What each technique gives" in once
