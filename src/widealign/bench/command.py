"""`widealign bench`."""

from pathlib import Path
from typing import Literal

from widealign.arguments import Names, Whole, Wholes
from widealign.bench.cases import HEADS, NETWORKS, Choice, Name, Precision
from widealign.errors import UsageError


def bench(
    *,
    quick: bool = False,
    network: list[Name] | None = None,
    width: Wholes = (),
    rule: Names = (),
    compile: bool = False,
    batch_size: Whole | None = None,
    precision: Precision = "float32",
    threads: Whole = 1,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    clock: Literal["wall", "cpu"] = "wall",
    freed: Literal["kept", "returned"] = "kept",
    out: Path | None = None,
) -> None:
    """Time a training step of every rule and mode against backprop, in turn in one process.

    Backprop is plain PyTorch, without a learner: the same network, data and type, SGD over lists of tensors. Floor is
    the least arithmetic of the rule, memory the peak of what PyTorch allocates, both in units of backprop's.

    Args:
        quick: one narrow width of each network; about a minute.
        network: only this one: cnn, mlp, rnn or transformer; may be given again.
        width: in place of the listed ones; several as 8,32.
        rule: only this one, and backprop; several as fa,dfa.
        compile: the compiled step of backprop and of the rules, too; 10 to 20 seconds for each.
        batch_size: in place of each network's own.
        precision: of everybody's forward and backward passes.
        threads: of PyTorch.
        device: where to run.
        clock: wall is what you wait for; cpu, the processor's time, is less disturbed by other programs.
        freed: kept, memory that a step frees stays with the process, which is the fastest for everybody; returned, the
            system gets it back, as happens in a process that does not call keep_freed_memory().
        out: write the rows to this file as JSON, after each case.
    """
    choice = Choice(networks=tuple(network or ()), widths=width, rules=rule,
                    batch=batch_size, quick=quick, compile=compile, precision=precision)  # fmt: skip
    _require(choice, threads, out)
    from widealign.bench.run import run  # imports torch: not for --help

    run(choice, threads=threads, device=device, clock=clock, freed=freed, out=out)


def _require(choice: Choice, threads: int, out: Path | None) -> None:
    """All problems with the options at once."""
    numbers = [("width", 1, width) for width in choice.widths] + [("threads", 1, threads)]
    numbers += [("batch-size", 2, choice.batch)] if choice.batch is not None else []
    found = [f"--{name} must be at least {least}; given {given}" for name, least, given in numbers if given < least]
    if "transformer" in (choice.networks or NETWORKS):
        odd = [width for width in choice.widths if width % HEADS]
        found += [f"--width must be a multiple of {HEADS} for the transformer; given {width}" for width in odd]
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        found.append(f"--out must be a file in a folder that exists; given {out}")
    if found:
        raise UsageError("; ".join(found) + ".")
