"""The command line. Commands are imported when they are called, so that `--help` needs neither torch nor time."""

import difflib
import sys
import warnings
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnknownCommandError

from widealign import __version__
from widealign.errors import WidealignError

_COMMANDS = {
    "train": ("widealign.train.command:train", "Train one network by one rule."),
    "align": ("widealign.train.align:align", "Train by backprop beside its companion; log alignment scores."),
    "list": ("widealign.experiments.command:list_all", "List tables, figures, rules and tasks."),
    "reproduce": ("widealign.sweep.command:reproduce", "Make tables and figures of the paper, and our own."),
    "runs": ("widealign.sweep.command:runs", "List the runs of a store."),
    "report": ("widealign.report.command:report", "Write tables and figures beside the paper's into one page."),
    "bench": ("widealign.bench.command:bench", "Time the rules against backprop."),
    "demo": ("widealign.demo:demo", "The first five minutes, ending in a report."),
}
_DATA = {
    "fetch": ("widealign.data.command:fetch", "Download the official files of a task."),
    "verify": ("widealign.data.command:verify", "Check the files of a task against their md5."),
}


def build() -> App:
    """The application with all its commands."""
    app = App(
        name="widealign",
        help="Train neural networks without backpropagation.",
        version=__version__,
        help_format="plaintext",
    )
    data = App(name="data", help="Fetch and verify data sets.", help_format="plaintext")
    for group, commands in ((app, _COMMANDS), (data, _DATA)):
        for name, (path, text) in commands.items():
            group.command(path, name=name, help=text)
    app.command(data)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; exits 0 on success, 2 on a usage or input error, 3 when training diverged."""
    warnings.showwarning = _warn
    try:
        code = build()(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UnknownCommandError as error:
        code = _complain(_unknown(error), 2)
    except CycloptsError as error:
        code = _complain(f"{error} See widealign --help.", 2)
    except WidealignError as error:
        code = _complain(str(error), error.exit_code)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        code = _complain(f"there is not enough memory ({_first_line(error)}): take a smaller --width or batch.", 2)
    except KeyboardInterrupt:
        code = _complain("Stopped.", 130)
    except BrokenPipeError:
        sys.stderr.close()
        code = 141
    except OSError as error:
        if error.filename is None:
            raise
        code = _complain(f"{error.filename}: {error.strerror}. Give another place, or make room there.", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _unknown(error: UnknownCommandError) -> str:
    known = list(_DATA) if "data" in (error.command_chain or ()) else [*_COMMANDS, "data"]
    given = (error.unused_tokens or [""])[0]
    close = difflib.get_close_matches(given, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"There is no command {given!r}; the commands are {', '.join(known)}.{hint}"


def _is_out_of_memory(error: BaseException) -> bool:
    """Torch's own error of a GPU is a RuntimeError as well; on the processor only its words tell."""
    return isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate memory" in str(error)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].partition("] ")[2] or str(error).partition("\n")[0] or "out of memory"


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    print(f"widealign: warning: {message}", file=sys.stderr)


def _complain(message: str, code: int) -> int:
    print(f"widealign: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
