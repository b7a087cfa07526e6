"""The errors a user can meet: one clear message each, and the exit code of the command line."""

from collections.abc import Sequence


class WidealignError(Exception):
    """What was required, what was given, what to do. The command line prints it without a traceback."""

    exit_code = 2


class UsageError(WidealignError):
    """An option, a file or a folder is not what was required."""


class DataError(WidealignError):
    """A data file is missing, damaged or not the official one."""


class RefusedModel(WidealignError, ValueError):  # noqa: N818
    """A rule cannot train this model correctly. Lists every problem with its remedy."""

    def __init__(self, rule: str, problems: Sequence[str]):
        self.problems = tuple(problems)
        noun = f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)}"
        super().__init__(f"{rule} cannot train this model: {noun}\n" + "\n".join(f"  - {p}" for p in self.problems))


class Diverged(WidealignError):  # noqa: N818
    """A loss or a gradient is not finite."""

    exit_code = 3
