"""Jobs and times in words, and where they are printed."""

from datetime import timedelta

from rich.console import Console

from widealign.experiments import Job, Study


def console() -> Console:
    """The terminal; where there is none, lines are as long as they need to be."""
    found = Console()
    return found if found.is_terminal else Console(width=250)


def label(job: Job) -> str:
    """A few words for people, such as `cifar10 align-ada width 8 lr 2 n 45`."""
    if isinstance(job, Study):
        return " ".join([job.kind, *(f"{key} {value}" for key, value in job.options.items())])
    words = [job.task, job.rule, f"width {job.width}", f"lr {job.lr:g}", f"seed {job.seed}"]
    words += [f"n {job.data_limit}"] if job.data_limit else []
    words += ["alignment"] if job.alignment else []
    words += ["sound"] if job.protocol == "sound" else []
    return " ".join(words)


def duration(seconds: float) -> str:
    """Seconds for people: 12 s, 3 min 20 s, 2 h 5 min, 3 days 4 h."""
    whole = timedelta(seconds=round(seconds))
    hours, minutes, rest = whole.seconds // 3600, whole.seconds // 60 % 60, whole.seconds % 60
    if whole.days:
        return f"{whole.days} day{'s' * (whole.days > 1)} {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
