"""Keys of the servers that a run would ask: they are in the environment, or the problem says what to set."""

import os
from collections.abc import Iterator

from entropy_sentinel.chat.cache import ReplyCache
from entropy_sentinel.chat.providers import missing_key
from entropy_sentinel.chat.settings import Server
from entropy_sentinel.config.sections import Config
from entropy_sentinel.judges.catalogue import members
from entropy_sentinel.judges.kind import Kind
from entropy_sentinel.planning.preflight.pending import PendingWork
from entropy_sentinel.planning.preflight.problem import Problem, ProblemCode, Severity


def find_missing_keys(work: PendingWork) -> Iterator[Problem]:
    """Yield a problem for each judge and model with pending work whose server's key is not in the environment.

    It is a warning if replies of this model are cached, because these need no key.
    """
    config = work.config
    for judge in work.judges:
        settings = config.judges[judge]
        if settings.served_by is None and isinstance(settings, Server):
            yield from _check_key(settings.model, f"judges.{judge}", "label jobs", _ways_without_key(config, judge))
    for model in work.models:
        server = config.models[model].server
        if isinstance(server, Server):
            yield from _check_key(server.model, f"models.{model}", "generation jobs", "")


def _check_key(model: str, key: str, jobs: str, ways_without_key: str) -> Iterator[Problem]:
    variable = missing_key(model, os.environ)
    if variable is None:
        return
    is_cached = ReplyCache().has_replies_of(model)
    message = f"{variable} is not set, which its {jobs} need to ask {model}"
    if is_cached:
        message += " for replies that are not cached"
    remedy = f"Run `export {variable}=...` in the shell that starts Snakemake{ways_without_key}."
    yield Problem(ProblemCode.MISSING_KEY, Severity.WARNING if is_cached else Severity.ERROR, key, message, remedy)


def _ways_without_key(config: Config, judge: str) -> str:
    """Return how a study does without the key of a judge: by a judge that asks nobody, or one on your own GPUs."""
    free = next((name for name, kind in config.judges.items() if _asks_nobody(kind)), None)
    ways = [f"`run: {{judges: [{free}]}}` in your config makes the study one without keys"] if free else []
    ways.append("a judge with `served: MODEL` instead of `model` runs on your GPUs (docs/judges.md)")
    return f". Without a key: {'; '.join(ways)}"


def _asks_nobody(judge: Kind) -> bool:
    """Return whether a judge decides by itself: it asks no server or other judge, and its labels are not imported."""
    return not (judge.UNTRACKED or judge.IMPORTED or judge.served_by or members(judge))
