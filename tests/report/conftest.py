"""Stores with made-up results: near the paper's numbers where it has some, and the same at every call."""

import hashlib
from collections import defaultdict

import pytest

from widealign.experiments import Study, cells, find
from widealign.experiments.measures import LOSS, SCORE, SECONDS
from widealign.sweep import Contents, Record

ORIGIN = {
    "versions": {"widealign": "0.1.0", "python": "3.11.7", "torch": "2.13.0"},
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "machine": "Linux x86_64",
    "device": "cpu",
    "threads": 1,
}
PROPOSITION_1 = {
    "difference": -1.02,
    "relative difference, hidden": -0.5,
    "relative difference, first layer": -1.0,
    "1 − score, hidden": -1.0,
    "weights": -0.5,
    "activity": -0.51,
    "jacobian": -0.49,
    "kernel": -0.9,
}
WIDE_LIMIT = {
    f"{rule} {what}": -1.0
    for rule in ("normal", "align-prop", "align-ada", "align-zero")
    for what in ("error", "distance")
}
PROPOSITION_2 = {
    f"{rule} {where}": -0.48 if where == "layers" else -0.8
    for rule in ("align-zero", "align-ada", "align-prop")
    for where in ("layers", "output")
}


def noise(*what: object) -> float:
    """Between -1 and 1, from a hash."""
    return int(hashlib.sha256(repr(what).encode()).hexdigest()[:8], 16) / 2**31 - 1


def contents(*wanted: tuple[str, str], drop=lambda config: False, damaged=None) -> Contents:
    """Finished runs of (experiment, scale) pairs, but for those that `drop` names."""
    results, metrics, jobs = defaultdict(lambda: {"best": {}}), defaultdict(dict), {}
    for name, scale in wanted:
        for grid in find(name).grids:
            for cell in cells(grid, scale):
                for config in cell.configs:
                    if not drop(config):
                        jobs[config.id] = config
                        _fill(cell, config, results[config.id], metrics[config.id])
        for study in find(name).studies.get(scale, ()):
            jobs[study.id] = study
            results[study.id] = {"study": _study(study)}
    finished = {
        name: Record(
            job=job,
            result={"status": "finished", "seconds": 20.0 + 0.1 * len(name), "epochs": 10, "last": {}, **results[name]},
            origin=ORIGIN,
            metrics=tuple(metrics[name].values()),
        )
        for name, job in jobs.items()
    }
    return Contents(finished=finished, damaged=damaged or {}, failed={}, unfinished=frozenset())


def _fill(cell, config, result, lines) -> None:
    paper = cell.paper[0] if cell.paper else 20 + 4 * config.width**0.4
    wobble = noise(config.seed, config.id)
    if cell.measure is SCORE:
        _score(cell, config, lines, wobble)
    elif cell.measure is LOSS:
        result["best"][cell.at["figure"]] = paper * (1 + 0.001 * wobble)
    elif cell.measure is SECONDS:
        result["seconds"] = 0.01 * config.width * (1.4 if config.rule != "normal" else 1) * (1 + 0.05 * wobble) * 10
    else:
        accuracy = paper + wobble - abs(config.lr - 2)
        result["best"] |= {"eval_acc": accuracy / 100, "val_acc": accuracy / 100}
    if config.log_steps:
        for step in range(1, 301):
            lines[step] = {"kind": "step", "step": step, "loss": 1 + 3 / step**0.5 + 0.1 * noise(step, config.id)}


def _score(cell, config, lines, wobble) -> None:
    final = cell.paper[0] if cell.paper else 0.4 + 0.05 * cell.at["layer"]
    for epoch in range(1, min(config.epochs, 40) + 1):
        lines[epoch, cell.at["layer"]] = {
            "kind": "alignment",
            "epoch": epoch,
            "layer": cell.at["layer"],
            "score": final,
            "score_probe": final * (1 - 0.5 / epoch) + 0.02 * wobble,
            "score_permuted": 0.1 * noise(epoch, cell.at["layer"]),
        }


def _study(study: Study) -> dict:
    if study.kind == "speed":
        rows = []
        for network in ("cnn", "mlp"):
            for rule, ratio in (("normal", 1.0), ("align-ada", 1.36), ("align-zero", 1.3), ("dfa", 0.84)):
                for width, batch in ((64, 100), (128, 100), (64, 25)):
                    rows.append(
                        {"network": network, "width": width, "rule": rule, "mode": "plain", "batch_size": batch}
                        | {"examples": 200, "median_ms": 12.3 * ratio, "spread_ms": 0.21, "ratio": ratio * 64 / width}
                        | {"floor": 4 / 3, "peak_mb": 211.0, "peak_ratio": width / 64}
                    )
        return {"rows": rows}
    widths = [64, 128, 256, 512, 1024]
    rates = {"theory-1": PROPOSITION_1, "theory-2": PROPOSITION_2, "theory-3": WIDE_LIMIT}[study.kind]
    return {
        "widths": widths,
        "seeds": [1, 2],
        "limits": {"error": {"mean": 0.0, "error": 0.01}},
        "series": {
            name: {"mean": [5 * w**rate for w in widths], "spread": [0.5 * w**rate for w in widths]}
            for name, rate in rates.items()
        },
        "fits": {name: {"slope": rate, "interval": [rate - 0.05, rate + 0.05]} for name, rate in rates.items()},
        "quantity": "difference",
    }


@pytest.fixture(scope="session")
def make_contents():
    return contents
