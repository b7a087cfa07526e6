"""Builds the wheel, installs it into an empty environment and uses it from an empty folder."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

USE = """
import torch, widealign
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
for id in widealign.rules.names():
    learner = widealign.rules.make(id, model)
    widealign.mse(learner(torch.ones(3, 4)), torch.zeros(3, 2)).backward()
print(widealign.__version__, "from", widealign.__file__)
"""


def main() -> None:
    """Fails if the wheel lacks something that the checkout has."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", str(empty / "dist"), str(ROOT))
        run(sys.executable, "-m", "venv", "--system-site-packages", str(empty / "venv"))
        python = str(empty / "venv" / "bin" / "python")
        (wheel,) = (empty / "dist").glob("*.whl")
        # The dependencies are those of this environment: what is tested is the wheel itself.
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel))
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        script = f"import sys; sys.path.append({packages!r})\n" + USE
        (empty / "work").mkdir()
        out = run(python, "-c", script, cwd=empty / "work")
        if str(empty) not in out:
            raise SystemExit(f"The checkout was imported in the place of the wheel: {out}")
        print(out.strip())


def run(*command: str, cwd: Path | None = None) -> str:
    """Runs a command, and shows what it printed if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
