"""The least arithmetic of a step, in units of backprop's.

In a wide and deep network nearly all work is matrix products, and each of these passes does the same number of them:
forward, back to the inputs, back to the weights. Backprop takes one of each, 3. What a rule saves or adds follows from
its equation, whatever the code does.
"""

from widealign.bench.cases import Case, Contender

BACKPROP = 3.0


def floor(contender: Contender, case: Case) -> float:
    """The arithmetic of a rule's step in a mode, over backprop's.

    Example:
        >>> case = Case(network="mlp", width=2048, batch=50, examples=450)
        >>> round(floor(Contender("align-ada", "jacobian"), case), 2), round(floor(Contender("fa", "plain"), case), 2)
        (0.67, 1.0)
        >>> round(floor(Contender("align-zero", "dual"), case), 2)
        0.48
    """
    rule, mode = contender
    return (_kept(rule, mode, case) or _recomputed(rule)) / BACKPROP


def _recomputed(rule: str) -> float:
    """Forward passes, walks back, passes to the weights."""
    match rule:
        case "last-layer":
            return 1.0  # live forward; the readout is small
        case "dfa":
            return 2.0  # live forward, weights; the error needs no walk
        case "align-ada" | "align-zero":
            return 4.0  # live forward, initial forward, a walk back through it, weights
        case _:
            return BACKPROP  # chained rules: other weights on the way back


def _kept(rule: str, mode: str, case: Case) -> float | None:
    match rule, mode:
        case "align-ada", "jacobian" | "in-place":
            return 2.0  # live forward, weights
        case "align-ada", "gates":
            return 3.0  # live forward, a walk back, weights
        case "align-zero", "jacobian":
            return 3.0  # live forward, initial forward, weights
        case "align-zero", "dual":
            return 1.0 + 2.0 * case.examples / case.width  # live forward, and h · h_i and Σ u_i for n examples
        case _:
            return None
