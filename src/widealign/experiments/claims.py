"""Claims of the paper, and our own, as small pure functions of a grid's values."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from widealign.experiments.noise import Noise
from widealign.experiments.verdicts import Check, Claim, Number, Outcome, Results, Verdict

__all__ = [
    "Check",
    "Claim",
    "Number",
    "Outcome",
    "Results",
    "Verdict",
    "agrees",
    "beats",
    "below",
    "best_rises",
    "each_above",
    "falls",
    "gap_narrows",
    "leads",
    "rises",
    "slope_near",
]


def leads(row: str, *others: str) -> Check:
    """At the widest column that has all of them, `row` is the largest."""

    def check(results: Results) -> Verdict:
        columns = results.shared((row, *others))
        if not columns or columns[-1] == results.columns[0] != results.columns[-1]:
            return _missing((row, *others), "in a wide column")
        rival = max(others, key=lambda other: results.numbers[other, columns[-1]].mean)
        return _compare(results, row, rival, columns[-1:])

    return check


def beats(row: str, other: str) -> Check:
    """Averaged over the columns that both rows have, `row` is above `other`."""
    return _against(row, other, sign=1)


def below(row: str, other: str, factor: float = 1.0) -> Check:
    """Averaged over the columns that both rows have, `row` is below `factor` times `other`."""
    return _against(row, other, sign=-1, factor=factor)


def _against(row: str, other: str, sign: int, factor: float = 1.0) -> Check:
    def check(results: Results) -> Verdict:
        columns = results.shared((row, other))
        return _compare(results, row, other, columns, sign, factor) if columns else _missing((row, other))

    return check


def gap_narrows(row: str, to: str) -> Check:
    """The distance from `row` to `to` is smaller at the widest column than at the narrowest."""

    def check(results: Results) -> Verdict:
        columns = results.shared((row, to))
        if len(columns) < 2:
            return _missing((row, to), "in two columns")
        ends = [(results.numbers[to, c], results.numbers[row, c]) for c in (columns[0], columns[-1])]
        first, last = (abs(a.mean - b.mean) for a, b in ends)
        where, to_where = results.at(columns[0]), results.at(columns[-1])
        because = f"the gap is {_number(first)} {where} and {_number(last)} {to_where}"
        return _decide(first - last, Noise.of_sum(ends), because)

    return check


def each_above(others: Mapping[str, str]) -> Check:
    """In the last column that has them all, every row is above the one that stands beside it."""

    def check(results: Results) -> Verdict:
        columns = results.shared((*others, *others.values()))
        if not columns:
            return _missing((*others, *others.values()))
        row, other = min(others.items(), key=lambda pair: _lead(results, *pair, columns[-1]))
        a, b = results.numbers[row, columns[-1]], results.numbers[other, columns[-1]]
        because = f"the closest are {_short(row)} with {_number(a.mean)} and {_short(other)} with {_number(b.mean)}"
        return _decide(a.mean - b.mean, Noise.of_sum([(a, b)]), because)

    return check


def _lead(results: Results, row: str, other: str, column: str) -> float:
    return results.numbers[row, column].mean - results.numbers[other, column].mean


def best_rises(name: str) -> Check:
    """Of the rows of that name, one in each group, the last one's best column is above the first one's."""

    def check(results: Results) -> Verdict:
        best: dict[str, Number] = {}
        for (row, _), number in results.numbers.items():
            if _short(row) == name and (row not in best or number.mean > best[row].mean):
                best[row] = number
        if len(best) < 2:
            return _missing((name,), "in two groups")
        (first, low), *_, (last, high) = best.items()
        groups = [row.partition(" | ")[0] for row in (first, last)]
        because = f"at its best {_number(low.mean)} at {groups[0]}, {_number(high.mean)} at {groups[1]}"
        return _decide(high.mean - low.mean, Noise.of_sum([(high, low)]), because)

    return check


def rises(*rows: str) -> Check:
    """The mean over the rows is larger in the last column than in the first."""
    return _trend(rows, sign=1)


def falls(*rows: str) -> Check:
    """The mean over the rows is smaller in the last column than in the first."""
    return _trend(rows, sign=-1)


def _trend(rows: Sequence[str], sign: int) -> Check:
    def check(results: Results) -> Verdict:
        columns = results.shared(rows)
        if len(columns) < 2:
            return _missing(rows, "in two columns")
        pairs = [(results.numbers[row, columns[-1]], results.numbers[row, columns[0]]) for row in rows]
        last, first = (fmean(side) for side in zip(*((a.mean, b.mean) for a, b in pairs), strict=True))
        because = f"{_number(first)} {results.at(columns[0])}, {_number(last)} {results.at(columns[-1])}"
        return _decide(sign * (last - first), Noise.of_mean(pairs), because)

    return check


def agrees(share: float = 0.8) -> Check:
    """At least this share of the comparable cells agrees with the printed numbers."""

    def check(results: Results) -> Verdict:
        cells = results.differences
        if not cells:
            return Verdict(outcome="not enough runs", because="no finished cell has the paper's own settings")
        close = sum(abs(difference) <= tolerance for _, difference, tolerance in cells)
        name, worst, _ = max(cells, key=lambda cell: abs(cell[1]) / cell[2])
        digit = f", {results.exact} to the last printed digit" if results.exact else ""
        because = f"{close} of {len(cells)} cells agree{digit}; the farthest, {name}, is off by {worst:+.3g}"
        because = because.replace(" -", " −")
        return _verdict(close >= share * len(cells), because)

    return check


def slope_near(key: str, predicted: float, margin: float, bound: bool = False) -> Check:
    """The fitted exponent of the width lies within the margin of the predicted one; under a bound it may be lower."""

    def check(results: Results) -> Verdict:
        fit = (results.study or {}).get("fits", {}).get(key)
        if fit is None:
            return Verdict(outcome="not enough runs", because="the study has not been run")
        low, high = fit["interval"]
        off = fit["slope"] - predicted
        limit = f"at most {predicted:g}" if bound else f"{predicted:g}"
        because = f"measured exponent {fit['slope']:.2f} [{low:.2f}, {high:.2f}], predicted {limit}".replace("-", "−")
        return _verdict(off <= margin and (bound or off >= -margin), because)

    return check


def _compare(
    results: Results, row: str, other: str, columns: Sequence[str], sign: int = 1, factor: float = 1.0
) -> Verdict:
    """Two rows, averaged over columns; the second one `factor` times."""
    pairs = [(results.numbers[row, c], results.numbers[other, c].times(factor)) for c in columns]
    ours, theirs = fmean(a.mean for a, _ in pairs), fmean(results.numbers[other, c].mean for c in columns)
    where = (
        results.at(columns[0]) if len(columns) == 1 else f"mean over {results.axis or 'columns'} {', '.join(columns)}"
    )
    because = f"{_short(row)} {_number(ours)}, {_short(other)} {_number(theirs)}, {where}"
    return _decide(sign * (ours - factor * theirs), Noise.of_mean(pairs), because)


def _decide(gain: float, noise: Noise, because: str) -> Verdict:
    """A gain that is no larger than the noise decides nothing."""
    because = f"{because}; {noise.about(gain)}".replace(" -", " −")
    if abs(gain) <= noise.half:
        return Verdict(outcome="not enough runs", because=f"{because}, within the noise")
    return _verdict(gain > 0, because)


def _verdict(truth: bool, because: str) -> Verdict:
    return Verdict(outcome="holds" if truth else "does not hold", because=because)


def _missing(rows: Sequence[str], where: str = "in one column") -> Verdict:
    return Verdict(outcome="not enough runs", because=f"needs {', '.join(map(_short, rows))} {where}")


def _number(value: float) -> str:
    """Three digits, also where the last of them is 0."""
    return f"{value:#.3g}".rstrip(".")


def _short(row: str) -> str:
    return row.rpartition(" | ")[2]
