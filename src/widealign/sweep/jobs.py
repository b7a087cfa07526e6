"""A job as text and back: what a store writes beside each result, and what a worker process is sent."""

from dataclasses import asdict
from typing import Any

from widealign.config import SCHEMA, RunConfig
from widealign.experiments import Job, Study


def to_json(job: Job) -> dict[str, Any]:
    """Everything about a job, with its id."""
    kind = job.kind if isinstance(job, Study) else "train"
    return {"schema": SCHEMA, "id": job.id, "kind": kind, "settings": asdict(job)}


def from_json(content: dict[str, Any]) -> Job:
    """The job that `to_json` wrote; ValueError if its settings are not those that its id names."""
    if content.get("schema") != SCHEMA:
        raise ValueError(
            f"schema {content.get('schema')} of another widealign; the installed one writes schema {SCHEMA}"
        )
    settings = content["settings"]
    job = RunConfig(**settings) if content["kind"] == "train" else Study(**settings)
    if job.id != content["id"]:
        raise ValueError(f"its settings have the id {job.id}, not {content['id']}")
    return job
