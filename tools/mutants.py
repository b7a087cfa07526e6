"""Breaks one line of every rule and mechanism in turn, and demands that a test turns red.

Works on a copy of the sources, so that the checkout stays as it is. `make mutants`, or
`python tools/mutants.py align_ada` for the mutants whose file or name contains a word.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Mutant:
    """One line of one file, broken."""

    file: str
    line: str
    broken: str


MUTANTS = (
    Mutant("rules/align_ada.py", "self.taught(output, live.outputs, *kept)", "self.taught(output, {}, *kept)"),
    Mutant("rules/align_ada.py", "with replayed:", "if True:"),
    Mutant("rules/align_prop.py", "return self.initial.values()", "return dict(self.model.named_parameters())"),
    Mutant("rules/anchored.py", "graft(initial, parameters[name])", "graft(parameters[name], parameters[name])"),
    Mutant(
        "rules/anchored.py",
        "graft_tree(live, replay(self.model, anchored, *kept))",
        "replay(self.model, anchored, *kept)",
    ),
    Mutant("rules/anchored.py", "with replayed, self.", "with self."),
    Mutant("rules/brsf.py", "self.passes += 1", "self.passes += 0"),
    Mutant("rules/brsf.py", "if drawn is None else drawn) * scale", "if drawn is None else drawn * 0 + 1) * scale"),
    Mutant("rules/chained.py", "own: substitutes[name] for", "own: module.get_parameter(own).detach() for"),
    Mutant("rules/chained.py", "copied((args, kwargs))", "(args, kwargs)"),
    Mutant("rules/chained.py", "return detached((args, kwargs))", "return args, kwargs"),
    Mutant("rules/chained.py", 'feedback["weight"])', "module.weight)"),
    Mutant("rules/chained.py", "graft_tree(output, output, replay", "graft_tree(output, replay"),
    Mutant("graph/spread.py", "return (e @ matrix.T).reshape(shape)", "return -(e @ matrix.T).reshape(shape)"),
    Mutant("rules/dfa.py", "/ math.sqrt(features)", "/ features"),
    Mutant("graph/spread.py", "(e @ matrix.T / math.prod(shape[2:]))", "(e @ matrix.T)"),
    Mutant(
        "graph/spread.py", "rows = matrix.unflatten(0, (channels, -1)).transpose(0, 1).flatten(0, 1)", "rows = matrix"
    ),
    Mutant("rules/fa.py", " | self.random.values()", ""),
    Mutant("rules/fa.py", "* draws.scale(parameter)", "* 1.0"),
    Mutant("rules/frsf.py", "return self.magnitudes.values()[name]", "return scale"),
    Mutant("rules/frsf.py", ".abs().to(s) * s", ".abs().to(s)"),
    Mutant("rules/injected.py", "return entering.detach()", "return entering"),
    Mutant("rules/injected.py", "return detached(output)", "return output"),
    Mutant("rules/injected.py", "graft_tree(frozen, frozen, self.live[site][call])", "frozen"),
    Mutant("rules/injected.py", "self.live[site][call])", "self.live[site][0])"),
    Mutant("rules/injected.py", "self.calls[site] - 1)", "self.calls[site] - 0)"),
    Mutant("rules/last_layer.py", "self.run(CutPass(), self.model,", "self.run(Pass(), self.model,"),
    Mutant("rules/learner.py", "if not self.training:", "if False:"),
    Mutant("rules/learner.py", "copied(tree) if self._changes_inputs else tree", "tree"),
    Mutant("rules/normal.py", "return self.model(*args, **kwargs)", "return self.model(*args, **kwargs) * 1.0000001"),
    Mutant("rules/sign_symmetry.py", "p.detach().sign() *", "p.detach() *"),
    Mutant("rules/usf.py", "return scale", "return scale * 0 + 1"),
    Mutant("rules/with_cache.py", "if any(signal.dim() == 0 and", "if any(signal.dim() == 9 and"),
    Mutant("rules/with_cache.py", "weights=self.initial.values()", "weights=dict(self.model.named_parameters())"),
    Mutant("rules/with_snapshot.py", "self.passes % every == 0", "self.passes % every == 1"),
    Mutant("rules/with_snapshot.py", "if id(p) not in inputs", "if True"),
    Mutant(
        "fast/cache.py",
        "graft_tree(output, network.at(network.listening(live), args, kwargs))",
        "network.at(network.listening(live), args, kwargs)",
    ),
    Mutant("graph/carry.py", "feedback * module.forward_scale", "feedback"),
    Mutant(
        "graph/carry.py", "module.dilation,\n        module.transposed", "[1] * spatial,\n        module.transposed"
    ),
    Mutant("graph/graft.py", "(None, *gradients * ctx.count)", "(None, *[g * 2 for g in gradients] * ctx.count)"),
    Mutant("graph/replay.py", "buffer.clone() for name", "buffer for name"),
    Mutant("graph/replay.py", "generator.set_state(state)", "pass"),
    Mutant(
        "graph/replay.py",
        "parametrize._cache_enabled = parametrize._cache_enabled, 0",
        "parametrize._cache_enabled = (parametrize._cache_enabled,) * 2",
    ),
    Mutant("graph/replay.py", "_PLAIN = (Tensor, int,", "_PLAIN = (Tensor,"),
    Mutant("graph/replay.py", "owner._buffers[name] = buffer", "pass"),
    Mutant("graph/replay.py", "if id(tensor) in given", 'if f"{owner}.{name}".strip(".") in tensors'),
    Mutant("graph/snapshot.py", "tensor.detach().clone()", "tensor.detach()"),
    Mutant("nn/batch_axis_norm.py", "eps=self.eps)", "eps=self.eps + 1e-3)"),
    Mutant("nn/paper_layer.py", "return total // 2, total - total // 2", "return total - total // 2, total // 2"),
)


LIKELY = ("battery", "check", "identities", "options", "oracle", "layers", "second_pass")
"""Tests that run before all others: they are quick, and most mutants die in them."""


def main(words: list[str]) -> int:
    """Prints a line a mutant; returns how many survived."""
    chosen = [m for m in MUTANTS if not words or any(word in f"{m.file} {m.broken}" for word in words)]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests", "pyproject.toml"):
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
        for mutant in chosen:
            path = copy / "src" / "widealign" / mutant.file
            text = path.read_text()
            if mutant.line not in text:
                raise SystemExit(f"{mutant.file} no longer has {mutant.line!r}: bring tools/mutants.py up to date.")
            path.write_text(text.replace(mutant.line, mutant.broken))
            killer = first_failure(copy)
            path.write_text(text)
            survivors += killer is None
            print(
                f"{'SURVIVED' if killer is None else 'killed  '}  {mutant.file}: {mutant.broken!r}  {killer or ''}",
                flush=True,
            )
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
    return survivors


def first_failure(checkout: Path) -> str | None:
    """The first test that fails in a checkout, or None."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        *(f"tests/rules/test_{name}.py" for name in LIKELY),
        "tests/rules",
        "tests/nn",
    ]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failures[0].partition(" - ")[0] if failures else f"exit code {done.returncode}"


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
