"""Rows and columns that several tables share."""

from widealign.experiments.spec import Line

_NAMES = {
    "normal": "Normal",
    "last-layer": "Last layer",
    "fa": "FA",
    "dfa": "DFA",
    "align-zero": "Align-zero",
    "align-ada": "Align-ada",
    "align-prop": "Align-prop",
}


def rules(*ids: str) -> tuple[Line, ...]:
    """One line a rule, under the paper's name for it."""
    return tuple(Line(label=_NAMES[rule], sets={"rule": rule}) for rule in ids)


def widths(narrowest: int = 8, widest: int = 512) -> tuple[Line, ...]:
    """One line a width, doubling."""
    lines = []
    while narrowest <= widest:
        lines.append(Line(label=str(narrowest), sets={"width": narrowest}))
        narrowest *= 2
    return tuple(lines)


def layers(count: int) -> tuple[Line, ...]:
    """One line a layer below the last one, counted from 1."""
    return tuple(Line(label=f"Layer {layer}", sets={"layer": layer}) for layer in range(1, count + 1))


def images(*counts: int) -> tuple[Line, ...]:
    """One line a size of the training set."""
    return tuple(Line(label=str(count), sets={"data_limit": count}) for count in counts)
