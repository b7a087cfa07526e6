"""What a learner does, site by site, in words."""

from widealign.rules.learner import Learner


def explain(learner: Learner) -> str:
    """Describes each site: name, shape, where its feedback comes from, which activity it learns from. Also prints it.

    Example:
        >>> import torch, widealign
        >>> _ = widealign.explain(widealign.AlignAda(torch.nn.Sequential(torch.nn.Linear(3, 2))))
        align-ada: feedback initial | gate initial | normaliser initial on the path, ...
        site  shape         feedback                                activity
        0     weight (2,3)  initial weights downstream, transposed  live
    """
    rows = [("site", "shape", "feedback", "activity")]
    for site in learner.sites:
        shapes = [
            f"{name} ({','.join(map(str, p.shape))})" for name, p in site.module.named_parameters() if p.dim() > 1
        ]
        shapes = shapes or [f"{name} ({','.join(map(str, p.shape))})" for name, p in site.module.named_parameters()]
        rows.append((site.name or "(model)", ", ".join(shapes) or "no parameters", *learner.describe(site)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    axes = " | ".join(f"{axis} {choice}" for axis, choice in learner.axes._asdict().items())
    text = "\n".join([f"{learner.id}: {axes}", *table])
    print(text)
    return text
