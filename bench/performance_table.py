"""The figures of docs/performance.md from the rows of `widealign bench`, as Markdown.

widealign bench --out bench.json
python bench/performance_table.py bench.json                            # prints them
python bench/performance_table.py bench.json --into docs/performance.md   # puts them in their place

A second file adds rows that the first has not: compiled steps, which are timed apart.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from widealign.bench import NETWORKS
from widealign.bench.cases import Network

BEGIN, END = "<!-- figures of the benchmark: written by bench/performance_table.py -->", "<!-- end of the figures -->"
SCRIPTS = {  # the authors' scripts, a step over plain PyTorch's, widths 8 / 16 / 32 / 64
    ("align-ada", "plain"): "1.77 / 1.74 / 1.57 / 1.39",
    ("align-zero", "plain"): "1.39 / 1.40 / 1.25 / 1.34",
    ("align-prop", "plain"): "1.33 / 1.3–1.6 / 1.2–1.7 / 0.95",
    ("fa", "plain"): "1.33 / 1.3–1.6 / 1.2–1.7 / 0.95",
    ("dfa", "plain"): "5.6 / 3.5 / 2.6 / 0.87",
}
Row = dict
Columns = Sequence[tuple[str, Callable[[Row], bool]]]


def figures(rows: Sequence[Row]) -> Iterator[str]:
    """All tables."""
    if not rows:
        sys.exit("There are no rows: give the file that `widealign bench --out FILE` wrote.")
    yield _setting(rows[0])
    for name, network in NETWORKS.items():
        own = [row for row in rows if row["network"] == name]
        usual = [row for row in own if (row["batch_size"], row["examples"]) == (network.batch, network.examples)]
        if not usual:
            continue
        yield f"### {name}: {network.title}\n\nBatch {network.batch}, {network.examples} training examples."
        yield _table(usual, [(str(width), _at("width", width)) for width in _values(usual, "width")], _scripts(name))
        yield from _beside(own, network)


def _beside(own: Sequence[Row], network: Network) -> Iterator[str]:
    widths = {case.width for case in network.beside}
    here = [row for row in own if row["width"] in widths]
    if len(batches := _values([r for r in here if r["examples"] == network.examples], "batch_size")) > 1:
        same = [r for r in here if r["examples"] == network.examples]
        yield f"Width {min(widths)}, other batches:"
        yield _table(_of_few(same), [(f"batch {b}", _at("batch_size", b)) for b in batches])
    if len(counts := _values([r for r in here if r["batch_size"] == network.batch], "examples")) > 1:
        same = [r for r in here if r["batch_size"] == network.batch]
        yield f"Width {min(widths)}, other numbers of training examples:"
        yield _table(_of_few(same), [(f"{n} examples", _at("examples", n)) for n in counts])


def _table(rows: Sequence[Row], columns: Columns, scripts: dict | None = None) -> str:
    """Multiples of backprop by column; then floor, products and memory, from the first column to the last."""
    heads = ["rule", "mode", *([] if scripts is None else ["authors' scripts"]), *(name for name, _ in columns)]
    lines = [[*heads, "floor", "products", "memory"]]
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    kinds = dict.fromkeys((row["rule"], row["mode"]) for row in rows)
    for rule, mode in sorted(kinds, key=lambda kind: rules.index(kind[0])):
        of = [row for row in rows if (row["rule"], row["mode"]) == (rule, mode)]
        found = [next((row for row in of if fits(row)), None) for _, fits in columns]
        ends = [_span(found, key) for key in ("floor", "counted", "peak_ratio")]
        printed = [] if scripts is None else [scripts.get((rule, mode), "")]
        lines.append([_named(rule, mode), mode, *printed, *(_number(row and row["ratio"]) for row in found), *ends])
    rule_line = ["---", "---", *["---:"] * (len(lines[0]) - 2)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule_line, *lines[1:]))


def _span(found: Sequence[Row | None], key: str) -> str:
    texts = [_number(row[key]) for row in found if row]
    return texts[-1] if texts[0] == texts[-1] else f"{texts[0]} → {texts[-1]}"


def _named(rule: str, mode: str) -> str:
    return "backprop" if rule == "normal" else rule


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _of_few(rows: Sequence[Row]) -> list[Row]:
    """Rules that were timed in every column."""
    return [row for row in rows if row["rule"] in ("normal", "align-ada", "align-zero") and row["mode"] != "compiled"]


def _scripts(network: str) -> dict | None:
    return SCRIPTS if network == "cnn" else None


def _at(key: str, value: int) -> Callable[[Row], bool]:
    return lambda row: row[key] == value


def _values(rows: Sequence[Row], key: str) -> list[int]:
    return sorted({row[key] for row in rows})


def _setting(row: Row) -> str:
    where = row["setting"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    threads = f"{where['threads']} thread{'s' * (where['threads'] > 1)}"
    machine = f"{where['machine']}, {where['system']}, {threads}, {where['precision']}"
    return f"{machine}; {versions}. Times by the {where['clock']} clock; freed memory is {where['freed']}."


def _merged(files: Iterable[Sequence[Row]]) -> list[Row]:
    key = ("network", "width", "batch_size", "examples", "rule", "mode")
    found: dict[tuple, Row] = {}
    for rows in files:
        found |= {at: row for row in rows if (at := tuple(row[name] for name in key)) not in found}
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+", help="files; what the first ones have is theirs")
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    text = "\n\n".join(figures(_merged(json.loads(path.read_text()) for path in given.rows)))
    if given.into is None:
        print(text)
        return
    page = given.into.read_text()
    before, rest = page.split(BEGIN)
    given.into.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
