"""Stage `generations`: a model answers every item of a benchmark, and the trace of each answer is kept.

A killed job loses at most the responses since its last part in `<output>.parts/`. If another job is at work there, a
job waits for its end and continues from its parts.
"""

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.llm_client.server_settings import fill_chat, fill_text
from entropy_sentinel.schemas.arrow_lists import list_column
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS, NO_LOGPROBS, REFUSED, TOP_K, WAS_REFUSED
from entropy_sentinel.study.config.study_paths import get_parts_folder
from entropy_sentinel.study.engines.engine_interface import Asked, Engine, Response
from entropy_sentinel.study.engines.engine_registry import PROMPTS, make_engine
from entropy_sentinel.study.engines.generation_section import (
    AskedSettings,
    GenerationSettings,
    PromptSettings,
    VllmSettings,
    are_imported,
    have_weights,
)
from entropy_sentinel.study.engines.strict_engine import StrictEngine
from entropy_sentinel.study.items.trace_import import import_generations
from entropy_sentinel.study.jobs.result_reuse import REUSE_KEY, compute_reuse_key, reuse_output, share_output
from entropy_sentinel.study.stages.generation_progress import Progress, log_progress
from entropy_sentinel.study.stages.job_parts import Parts

log = logging.getLogger(__name__)

# A part is written when either limit is reached: a compromise between the loss by a kill and the number of files.
PART_RESPONSES = 256
PART_SECONDS = 60

RequestKey = tuple[str, int]  # item_id, sample


def write_generations(benchmark: str, settings: GenerationSettings, threads: int, output: str) -> None:
    """Answer the items of the file `benchmark` and write the traces to `output`, in benchmark order.

    The engine gets `threads` CPU cores. Continues where a killed job with the same settings and items stopped. Traces
    that another study has are copied (study/jobs/result_reuse.py). Those of other tools are checked and imported
    instead.
    """
    items = BENCHMARKS.read(benchmark)
    if are_imported(settings):
        import_generations(items, settings, output)
        return
    study = Path(output).parents[2]  # of <study>/generations/<model>/<benchmark>.parquet
    pinned_settings = pin_commit(settings, study)
    # The key finds the traces in other studies; the identity, below, finds what a killed job has left here.
    key = compute_reuse_key(GENERATIONS.stage, pinned_settings, items.select("item_id", "question").rows())
    with Parts(Path(get_parts_folder(output)), GENERATIONS, compute_identity(pinned_settings, items), key) as parts:
        if parts.restore(output):
            log.info("an earlier run has finished the responses: nothing to generate")
            return
        rows = build_request_frame(items, pinned_settings["samples"])
        if not reuse_output(output, study, key, GENERATIONS, rows, parts.identity):
            frame = answer_all(items, pinned_settings, threads, parts)
            GENERATIONS.write(frame, output, {**build_provenance(pinned_settings, parts, frame), REUSE_KEY: key})
            share_output(output, key, GENERATIONS.stage)
        parts.replace_by_link(output)


def answer_all(items: pl.DataFrame, settings: AskedSettings, threads: int, parts: Parts) -> pl.DataFrame:
    """The responses to all requests, in benchmark order: those in `parts`, and newly generated ones.

    Raises ConfigError if the engine refuses every request, because the cause is then not in the questions.
    """
    order = build_request_frame(items, settings["samples"])
    engine, frame = None, parts.read()
    # Repeats only if a part proves damaged at the end.
    while pending := order.join(frame, on=order.columns, how="anti", maintain_order="left").rows():
        engine = engine or StrictEngine(make_engine(settings, threads), settings)
        log.info("%d of %d responses to generate", len(pending), len(order))
        generate_responses(items, pending, settings, engine, parts)
        frame = parts.read()
    frame = order.join(frame, on=order.columns, maintain_order="left").select(GENERATIONS.schema.names())
    refused = frame.filter(WAS_REFUSED)
    if len(refused) == len(frame) > 0:
        parts.delete()
        raise ConfigError(
            f"models.{settings['model']}: the engine refused all {len(frame)} requests; the first, item "
            f"'{refused['item_id'][0]}': {refused['finish_reason'][0].removeprefix(REFUSED)}"
        )
    if len(refused):
        log.warning("%d of %d requests were refused: they have no features and no label", len(refused), len(frame))
    return frame


def pin_commit(settings: AskedSettings, study: Path) -> AskedSettings:
    """The settings with the commit of weights on the hub; the study in this folder records it, and keeps to it."""
    if not have_weights(settings) or settings["local"]:
        return settings
    os.environ.update(settings["environment"])  # HF_HOME and HF_HUB_OFFLINE are read during the import
    from entropy_sentinel.hub import hub_files as hub

    commit = hub.pin_commit("model", settings["weights"], settings["revision"], study / "revisions")
    settings_with_commit: VllmSettings = {**settings, "commit": commit}
    return settings_with_commit


def generate_responses(
    items: pl.DataFrame, keys: Sequence[RequestKey], settings: AskedSettings, engine: Engine, parts: Parts
) -> None:
    """Answer the requests `keys` on `items` (contract BENCHMARKS) and append their rows to `parts`."""
    questions = dict(items.select("item_id", "question").iter_rows())
    seeds = [derive_seed(settings["seed"], settings["model"], item_id, sample) for item_id, sample in keys]
    prompts = [fill_prompt(settings, questions[item_id]) for item_id, _ in keys]
    progress = Progress(len(keys), settings["sampling"].get("max_tokens"), engine.under_way)
    answers = engine.answer(prompts, seeds)
    # Always closed: an engine with running requests would keep the process from ending.
    with log_progress(progress), closing(answers):
        for batch in _batch_answers(answers, len(keys), progress):
            positions = [position for position, _ in batch]
            rows = to_frame(
                [keys[position] for position in positions],
                [seeds[position] for position in positions],
                [response for _, response in batch],
                parts.run,
            )
            for item_id, sample, reason in rows.select("item_id", "sample", "finish_reason").iter_rows():
                if reason.startswith(REFUSED):
                    log.warning("item '%s', sample %d: %s", item_id, sample, reason)
            parts.append(rows, engine.provenance)  # a server identifies itself only in its replies


def fill_prompt(settings: PromptSettings, question: str) -> Asked:
    """The prompt for a question: a chat, or plain text that the model continues."""
    values = settings.get("prompt_variables", {}) | {"question": question}
    text = settings.get("text")
    if text:
        return fill_text(text, **values)
    return fill_chat(settings.get("messages") or PROMPTS[settings["prompt"]].chat, **values)


def _batch_answers(
    answers: Iterable[tuple[int, Response]], total: int, progress: Progress
) -> Iterator[list[tuple[int, Response]]]:
    """Yield answers, each with the position of its request, in batches that are each written as one part.

    If the engine fails or leaves a request unanswered, all answers so far are yielded before the error is raised.
    """
    batch: list[tuple[int, Response]] = []
    last_time = time.monotonic()
    n_yielded = 0
    try:
        for position, response in answers:
            batch.append((position, response))
            progress.count_response(response.n_tokens)
            now = time.monotonic()
            is_last = n_yielded + len(batch) == total
            if len(batch) >= PART_RESPONSES or now - last_time >= PART_SECONDS or is_last:
                n_yielded += len(batch)
                last_time = now
                yield batch
                batch = []
        if n_yielded < total:
            raise EntropySentinelError(f"the engine answered {n_yielded + len(batch)} of {total} requests")
    except Exception:
        if batch:
            yield batch
        raise


def list_request_keys(items: pl.DataFrame, samples: int) -> list[RequestKey]:
    """Every (item_id, sample) of a benchmark, in its order."""
    return list(product(items["item_id"], range(samples)))


def build_request_frame(items: pl.DataFrame, samples: int) -> pl.DataFrame:
    """The keys of all requests as a frame with the columns of contract GENERATIONS."""
    keys = list_request_keys(items, samples)
    return pl.DataFrame(keys, schema={"item_id": pl.String, "sample": pl.UInt16}, orient="row")


def derive_seed(seed: int, model: str, item_id: str, sample: int) -> int:
    """The seed of one request, a hash in 0 .. 2^63 - 1.

    With the study's seed itself, every item would use the same random stream, and a second sample would repeat the
    first.
    """
    digest = hashlib.sha256(json.dumps([seed, model, item_id, sample]).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def compute_identity(settings: AskedSettings, items: pl.DataFrame) -> str:
    """What a finished part of an earlier job must match to be kept: a hash of the settings and the questions."""
    content = json.dumps([dict(settings), items.select("item_id", "question").rows()], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def to_frame(keys: Sequence[RequestKey], seeds: Sequence[int], responses: Sequence[Response], run: int) -> pl.DataFrame:
    """Responses as a frame of contract GENERATIONS, without a Python object per token.

    `run` is the number of this attempt of the job, from 0.
    """
    columns: dict[str, Any] = {
        "item_id": [item_id for item_id, _ in keys],
        "sample": [sample for _, sample in keys],
        "seed": list(seeds),
        "run": [run] * len(keys),
        "n_tokens": [response.n_tokens for response in responses],
        "trace_start": [0] * len(keys),
    }
    for name, dtype in GENERATIONS.schema.items():
        if name not in columns:
            values = [getattr(response, name) for response in responses]
            columns[name] = list_column(values, dtype.inner) if isinstance(dtype, pl.List) else values
    return GENERATIONS.frame(columns)


def build_provenance(settings: AskedSettings, parts: Parts, frame: pl.DataFrame) -> dict[str, Any]:
    """The provenance of a trace file: settings, facts about the engine, and counts of the responses in `frame`."""
    facts = parts.facts()
    return {
        **settings,
        **facts,
        "identity": parts.identity,
        "top_k_returned": 0 if facts.get("logprobs_mode") == NO_LOGPROBS else TOP_K,
        "prompts_hash": hashlib.sha256("".join(frame["prompt_hash"]).encode()).hexdigest()[:16],
        "resumed_responses": int((frame["run"] > 0).sum()),
        "refused_responses": int(frame["finish_reason"].str.starts_with(REFUSED).sum()),
    }
