"""What the README and the examples say works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from widealign.cli import build

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def blocks(kind: str) -> list[str]:
    return [text for language, text in re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL) if language == kind]


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split("\n")[0])
def test_readme_code_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    if "widealign.check(" in code:
        assert "all that the rule promises holds" in capsys.readouterr().out


COMMANDS = [
    line.partition("#")[0].strip()
    for block in blocks("")
    for line in block.splitlines()
    if line.startswith("widealign")
]


@pytest.mark.parametrize("line", COMMANDS)
def test_readme_commands_parse(line):
    build().parse_args(shlex.split(line)[1:], exit_on_error=False, print_error=False)


def test_readme_mentions_existing_files():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


EXPECTED = {
    "own_loop.py": "all that the rule promises holds",
    "trainer_loop.py": "goes on exactly: True",
    "custom_rule.py": "coarse",
    "monitoring.py": "score",
    "lightning_module.py": "accuracy",
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_example_runs(name):
    if name == "lightning_module.py":
        pytest.importorskip("lightning", reason="lightning is not installed: pip install '.[examples]'")
    done = run([sys.executable, str(ROOT / "examples" / name)])
    assert EXPECTED[name] in done


def test_example_on_two_processes_runs():
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    assert "the same weights on all 2 ranks: True" in run([*launch, str(ROOT / "examples" / "ddp.py")])


def run(command: list[str]) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
