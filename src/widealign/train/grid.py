"""A grid of learning rates: one run each, and the protocol's choice among them."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from widealign.config import RunConfig
from widealign.errors import UsageError, WidealignError
from widealign.train import record
from widealign.train.files import locked, read_json, write_json
from widealign.train.resolving import resolve
from widealign.train.runner import Observers, Options, machine, run


def run_grid(
    config: RunConfig,
    rates: Sequence[float],
    out: Path,
    options: Options | None = None,
    *,
    observers: Observers | None = None,
) -> dict[str, Any]:
    """Train with each learning rate, in OUT/lr-1, OUT/lr-2 ...; write the chosen run's result to OUT/result.json.

    The protocol chooses by its own figure: the paper's on the held-out images, the sound one on the validation split. A
    rate that diverges takes part with its best epoch before. Of equal rates the first wins.

    Raises:
        UsageError: a rate is named twice, or the settings or the folder do not fit, as for `run`.
    """
    if len(set(rates)) < len(rates):
        raise UsageError(f"--lr must name each learning rate once; given {', '.join(f'{rate:g}' for rate in rates)}")
    configs = [resolve(replace(config, lr=rate)) for rate in rates]
    asked = {**asdict(configs[0]), "lr": list(rates)}
    with locked(out):
        stored = read_json(out / "config.json")
        if stored is not None:
            record.require_same(asked, stored, out)
        if (done := read_json(out / "result.json")) is not None:
            return record.require_result(done, out)
        if stored is None:
            device, threads = machine(configs[0], None)
            settings = {**asked, "device": device.type, "threads": threads}
            write_json(out / "config.json", {**settings, **record.provenance()})
        folders = [out / f"lr-{_short(rate)}" for rate in rates]
        try:
            results = [run(c, folder, options, observers=observers) for c, folder in zip(configs, folders, strict=True)]
        except WidealignError:
            if not any(folder.exists() for folder in folders):
                (out / "config.json").unlink()  # nothing has begun: other settings are welcome
            raise
        content = _chosen(results, [folder.name for folder in folders])
        write_json(out / "result.json", content)
        return content


def _chosen(results: Sequence[dict[str, Any]], folders: Sequence[str]) -> dict[str, Any]:
    figure = results[0]["chosen_by"]["figure"]
    sign = 1 if record.better(figure) == "high" else -1
    judged = [index for index, result in enumerate(results) if result["best"].get(figure) is not None]
    best = max(judged, key=lambda index: sign * results[index]["best"][figure]) if judged else 0
    kept = ("lr", "status", "best", "last", "epochs", "steps", "seconds")
    return {
        **results[best],
        "folder": folders[best],
        "seconds": round(sum(result["seconds"] for result in results), 3),
        "grid": [
            {"folder": folder, **{name: result[name] for name in kept}}
            for folder, result in zip(folders, results, strict=True)
        ],
    }


def _short(rate: float) -> str:
    """1 rather than 1.0, with all digits where they matter."""
    return f"{rate:g}" if float(f"{rate:g}") == rate else repr(rate)
