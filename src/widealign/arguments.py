"""Kinds of command-line arguments."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a whole number is needed; given {text!r}.") from None


def parse_whole(type_: Any, tokens: Sequence[Token]) -> int:
    """A whole number, as it is written: 8.5 is not one, rather than 8."""
    return _whole(tokens[0].value)


def parse_wholes(type_: Any, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Whole numbers, as 8,16 or one by one."""
    return tuple(_whole(part) for token in tokens for part in token.value.split(","))


def parse_names(type_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Names, as fa,dfa or one by one."""
    return tuple(part.strip() for token in tokens for part in token.value.split(","))


Whole = Annotated[int, Parameter(converter=parse_whole)]
Wholes = Annotated[tuple[int, ...], Parameter(converter=parse_wholes, n_tokens=1, negative="", show_default=False)]
Names = Annotated[tuple[str, ...], Parameter(converter=parse_names, n_tokens=1, negative="", show_default=False)]
