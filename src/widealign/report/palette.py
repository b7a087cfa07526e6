"""One colour for each rule and each layer, in every figure; a light and a dark page have their own shade."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ink:
    """A colour on a light and on a dark page."""

    light: str
    dark: str


_RULES = {
    "normal": Ink("#3b4049", "#d6d3cb"),
    "align-ada": Ink("#2a6f9e", "#6bb3e0"),
    "align-zero": Ink("#2e8b74", "#63c7ac"),
    "align-prop": Ink("#7a5aa6", "#b598de"),
    "dfa": Ink("#c07a1e", "#e5ab57"),
    "fa": Ink("#b4503f", "#e88a78"),
    "last-layer": Ink("#8d8f94", "#8f949c"),
}
_LAYERS = (
    Ink("#1f4e79", "#8cc6f0"),
    Ink("#2a6f9e", "#6bb3e0"),
    Ink("#2e8b74", "#63c7ac"),
    Ink("#7d9b3f", "#b5cf74"),
    Ink("#c99a1e", "#ecc35c"),
    Ink("#c76a33", "#ee9a66"),
    Ink("#a8434f", "#ea8592"),
)
DASHES = ("solid", "dash", "dot", "dashdot")


def ink(coordinate: str, value: object, position: int) -> Ink:
    """The colour of a curve, by what tells it apart from the others."""
    if coordinate == "layer" and isinstance(value, int):
        return _LAYERS[(value - 1) % len(_LAYERS)]
    return _RULES.get(str(value), _LAYERS[position % len(_LAYERS)])
