"""Runs in processes of their own that can be killed. Forks them, so that torch is imported only once.

Each line of standard input is a request, {"out": ..., "settings": ...}. Answers with the new process's id, and when
that has ended with its exit code.
"""

import json
import os
import sys
from pathlib import Path

import torch

from widealign.config import RunConfig
from widealign.errors import WidealignError
from widealign.train import Options, run


def carry_out(request: dict) -> int:
    try:
        options = Options(resume=True, checkpoint_seconds=0.0)
        run(RunConfig(**request["settings"]), Path(request["out"]), options)
    except WidealignError as error:
        Path(request["out"], "message").write_text(str(error))
        return error.exit_code
    return 0


def serve() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(carry_out(json.loads(line)))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
