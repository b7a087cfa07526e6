"""Kinds of command-line arguments."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token


def parse_whole(type_: Any, tokens: Sequence[Token]) -> Any:
    """Whole numbers, as they are written: 8.5 is not one, rather than 8."""
    try:
        numbers = [int(token.value) for token in tokens]
    except ValueError:
        given = ",".join(token.value for token in tokens)
        raise ValueError(f"a whole number is needed; given {given!r}.") from None
    return numbers[0]


Whole = Annotated[int, Parameter(converter=parse_whole)]
