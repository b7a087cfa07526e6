"""The arrow of imports, and packages that must do without torch."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import widealign

pytestmark = pytest.mark.quick

SOURCE = Path(widealign.__file__).parent
LEAVES = {"arguments", "errors", "config", "locks", "losses", "student"}
BELOW = {  # each package may import these, and the leaves
    "nn": set(),
    "graph": {"nn"},
    "rules": {"graph", "nn", "fast"},
    "fast": {"graph", "nn"},
    "models": {"nn"},
    "oracle": {"graph", "nn", "rules"},
    "alignment": {"graph", "nn", "rules", "models"},
    "theory": {"graph", "nn", "rules", "models"},
    "data": set(),
    "train": {"alignment", "data", "graph", "models", "nn", "rules", "fast"},
    "bench": {"models", "nn", "rules", "fast", "graph"},
    "experiments": set(),
    "sweep": {"experiments", "train", "theory", "bench"},
    "report": {"experiments", "sweep"},
}
TORCH_FREE = ("experiments", "report")


def imports(package: str) -> dict[str, set[str]]:
    """What each file of a package imports: names below widealign, and others by their first part."""
    found: dict[str, set[str]] = {}
    for file in (SOURCE / package).rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        found[str(file.relative_to(SOURCE))] = names
    return found


@pytest.mark.parametrize("package", [p.name for p in SOURCE.iterdir() if (p / "__init__.py").is_file()])
def test_imports_point_down_only(package):
    allowed = BELOW[package] | LEAVES | {package, "__version__"}
    for file, names in imports(package).items():
        inside = {name.split(".")[1] for name in names if name.startswith("widealign.")}
        assert inside <= allowed, f"{file} imports {sorted(inside - allowed)}"


@pytest.mark.parametrize("package", TORCH_FREE)
def test_no_torch_where_results_are_only_read(package):
    for file, names in imports(package).items():
        assert not any(name.split(".")[0] == "torch" for name in names), file


@pytest.mark.parametrize("module", ["widealign", "widealign.cli", "widealign.experiments", "widealign.report"])
def test_torch_is_not_imported(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_exists():
    for name in widealign.__all__:
        assert getattr(widealign, name) is not None


def test_mutants_are_lines_of_the_sources():
    path = SOURCE.parents[1] / "tools" / "mutants.py"
    if not path.exists():
        pytest.skip("an installed package has no tools/")
    found = runpy.run_path(str(path))["MUTANTS"]
    assert [m for m in found if m.line not in (SOURCE / m.file).read_text()] == []
