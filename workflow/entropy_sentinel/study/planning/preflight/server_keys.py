"""Keys of the servers that a run would ask: they are in the environment, or the problem says what to set."""

import os
from collections.abc import Iterator

from entropy_sentinel.judges.judge_base import Kind
from entropy_sentinel.judges.judge_registry import list_members
from entropy_sentinel.llm_client.provider_keys import missing_key
from entropy_sentinel.llm_client.reply_cache import ReplyCache
from entropy_sentinel.llm_client.server_settings import Server
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity


def find_missing_keys(work: PendingWork) -> Iterator[Problem]:
    """Yield a problem for each judge and model with pending work whose server's key is not in the environment.

    It is a warning if the work may need no request: replies are cached, and labels are copied from other studies.
    """
    config = work.config
    for judge in work.labels:
        settings = config.judges[judge]
        if settings.served_by is None and isinstance(settings, Server):
            is_cached = not work.judges_new_responses(judge) and ReplyCache().has_replies_of(settings.model)
            may_go_on = is_cached or work.may_have_labels(judge)
            ways = _describe_ways_without_key(config, judge)
            yield from _check_key(settings.model, f"judges.{judge}", "label jobs", may_go_on, ways)
    for model in work.models:
        server = config.models[model].server
        if isinstance(server, Server):
            may_go_on = ReplyCache().has_replies_of(server.model)
            yield from _check_key(server.model, f"models.{model}", "generation jobs", may_go_on, "")


def _check_key(model: str, key: str, jobs: str, may_go_on: bool, ways_without_key: str) -> Iterator[Problem]:
    """Yield a problem if the server's key for the LiteLLM name `model` is not in the environment.

    `key` is the config's key of the server, `jobs` are those that ask it. With `may_go_on`, it is a warning.
    """
    variable = missing_key(model, os.environ)
    if variable is None:
        return
    message = f"{variable} is not set, which its {jobs} need to ask {model}"
    if may_go_on:
        message += " for replies that are neither cached nor in another study"
    remedy = f"Run `export {variable}=...` in the shell that starts Snakemake{ways_without_key}."
    yield Problem(ProblemCode.MISSING_KEY, Severity.WARNING if may_go_on else Severity.ERROR, key, message, remedy)


def _describe_ways_without_key(config: Config, judge: str) -> str:
    """How a study does without the key of a judge: by a judge that asks nobody, or one on your own GPUs."""
    free = next((name for name, kind in config.judges.items() if _asks_nobody(kind)), None)
    ways = [f"`run: {{judges: [{free}]}}` in your config makes the study one without keys"] if free else []
    ways.append("a judge with `served: MODEL` instead of `model` runs on your GPUs (docs/judges.md)")
    return f". Without a key: {'; '.join(ways)}"


def _asks_nobody(judge: Kind) -> bool:
    """Whether a judge decides by itself: it asks no server or other judge, and its labels are not imported."""
    return not (judge.UNTRACKED or judge.IMPORTED or judge.served_by or list_members(judge))
