"""Stage `engine_pass`: ask the model again about its own responses, for a family of signals that needs it.

A family with `requery` has a module of questions in a folder `requery` beside its declaration, with two functions that
return rows of its contract: `ask(part, engine, settings, asked_with)` for responses that can be asked about,
`unasked(part, settings)` for the others. `part` has the columns of traces, model and benchmark, `question` and
`reference`, and `prompt_ids`; in `unasked` only RESPONSE and the reason, `unusable`, are guaranteed. `settings` is the
family's section of the config. `asked_with` has the settings that the model's traces depend on, including its prompt
and sampling.

Responses are processed in parts that depend only on the traces, each with an empty cache. So a killed job continues
after its last whole part, with the same output. If the family is `per_item`, a part has all responses to its items.
"""

import hashlib
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict, final

import polars as pl

from entropy_sentinel.core.errors import ConfigError, ContractError
from entropy_sentinel.schemas.arrow_lists import flatten_lists
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_owners, read_provenance
from entropy_sentinel.schemas.generation_schema import WAS_REFUSED, scan_traces
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.signal_registry import FAMILIES, load_requery_module
from entropy_sentinel.study.config.study_paths import get_parts_folder
from entropy_sentinel.study.engines.engine_interface import TokenIdEngine
from entropy_sentinel.study.engines.engine_registry import make_engine
from entropy_sentinel.study.engines.generation_section import AskedSettings
from entropy_sentinel.study.engines.strict_engine import StrictEngine
from entropy_sentinel.study.items.trace_import import import_pass
from entropy_sentinel.study.jobs.result_reuse import REUSE_KEY, compute_reuse_key, reuse_output, share_output
from entropy_sentinel.study.stages.generation_stage import fill_prompt, pin_commit
from entropy_sentinel.study.stages.job_parts import Parts

log = logging.getLogger(__name__)

# Tokens of the responses in a part: a compromise between the loss by a kill and the number of files.
PART_TOKENS = 4096


@final
class PassSettings(TypedDict):
    """The settings that a pass depends on, besides traces and items; `asked_with` are those of the model's own traces.

    `unaskable` is the reason why the model cannot be asked at all; its rows then have no answers.
    """

    family: str
    version: int
    asked_with: AskedSettings
    settings: dict[str, Any]
    unaskable: NotRequired[str]


@final
class ImportedPass(TypedDict):
    """The settings of an imported pass; `settings` is the family's section, for responses without a row."""

    family: str
    version: int
    source: str
    settings: dict[str, Any]
    content: NotRequired[str]  # of the source (study/jobs/file_content.py)


def write_engine_pass(
    benchmark: str, generations: str, settings: PassSettings | ImportedPass, threads: int, output: str
) -> None:
    """Ask about the responses in the file `generations` to the items in `benchmark`; rows in the order of the traces.

    The engine gets `threads` CPU cores. Continues where a killed job with the same settings and responses stopped.
    Raises ConfigError if no rendered prompt matches the traces. An external pass is checked and imported
    instead.
    """
    if "source" in settings:
        write_imported_pass(generations, settings, output)
        return
    requery = FAMILIES[settings["family"]].requery
    assert requery is not None  # only such families have a pass
    responses = _read_responses(benchmark, generations, settings.get("unaskable"))
    study = Path(output).parents[3]  # of <study>/passes/<family>/<model>/<benchmark>.parquet
    settings = {**settings, "asked_with": pin_commit(settings["asked_with"], study)}
    contract, origin = requery.contract, _read_origin(generations)
    key = compute_reuse_key(contract.stage, settings, _hash_content(responses))
    with Parts(Path(get_parts_folder(output)), contract, _hash_identity(settings, responses), key) as parts:
        if parts.restore(output):
            log.info("an earlier run has finished this pass: nothing to do")
            return
        if not reuse_output(output, study, key, contract, responses.select(RESPONSE), parts.identity):
            frame = _ask_all(responses, settings, threads, parts)
            provenance = {**origin, "family": settings["family"], "pass": dict(settings), "pass_facts": parts.facts()}
            contract.write(frame, output, {**provenance, "identity": parts.identity, REUSE_KEY: key})
            share_output(output, key, contract.stage)
        parts.replace_by_link(output)


def _read_origin(generations: str) -> dict[str, Any]:
    """The provenance of the traces, which a pass over them repeats, without what identifies their own file."""
    left_out = ("stage", "identity", REUSE_KEY)
    return {key: value for key, value in read_provenance(generations).items() if key not in left_out}


def _read_responses(benchmark: str, generations: str, unaskable: str | None) -> pl.DataFrame:
    """The traces with question and reference; `unusable` has the reason why one cannot be asked about.

    The reason is `unaskable` for all of them, if that is set.
    """
    items = BENCHMARKS.read(benchmark, ["item_id", "question", "reference"])
    large = ("top_logprobs", "top_token_ids", "top_tokens", "token_logprobs", "tokens")
    traces = scan_traces(generations).drop(large).collect()
    reason = (
        pl.when(WAS_REFUSED)
        .then("finish_reason")
        .when(pl.lit(unaskable is not None))
        .then(pl.lit(unaskable))
        .when(pl.col("token_ids").is_null())
        .then(pl.lit("the trace has no token ids"))
    )
    joined = traces.join(items, on="item_id", how="left", maintain_order="left", validate="m:1")
    return joined.with_columns(unusable=reason)


def _ask_all(responses: pl.DataFrame, settings: PassSettings, threads: int, parts: Parts) -> pl.DataFrame:
    """The rows of all responses: those already in `parts`, and those from new requests."""
    usable = responses.filter(pl.col("unusable").is_null())
    unusable = responses.filter(pl.col("unusable").is_not_null())
    requery_module = load_requery_module(settings["family"])
    rows = parts.read()
    engine, n_done, start = None, 0, time.monotonic()
    # Repeats only if a part proves damaged at the end.
    while pending := _list_pending_parts(usable, rows, FAMILIES[settings["family"]].per_item):
        # The config names only a TokenIdEngine for a pass (`study.config.run_section.find_asking_obstacle`).
        engine = engine or StrictEngine(make_engine(settings["asked_with"], threads), settings["asked_with"])
        for part in pending:
            parts.append(_ask_part(part, engine, settings, requery_module), engine.provenance)
            n_done += len(part)
            speed = n_done / (time.monotonic() - start)
            n_pending = sum(map(len, pending)) - n_done
            log.info(
                "%d of %d responses, %.1f a second, %.0f s left",
                len(usable) - n_pending,
                len(usable),
                speed,
                n_pending / speed,
            )
        rows = parts.read()
    if len(unusable):
        first = unusable["unusable"][0]
        log.warning("%d of %d responses cannot be asked about: %s", len(unusable), len(responses), first)
        rows = pl.concat([rows, requery_module.unasked(unusable, settings["settings"])])
    order = responses.select(RESPONSE)
    return order.join(rows, on=RESPONSE, how="left", maintain_order="left_right").select(rows.columns)


def _list_pending_parts(responses: pl.DataFrame, rows: pl.DataFrame, per_item: bool) -> list[pl.DataFrame]:
    """The parts of the responses that have no row yet; with `per_item`, a part has all responses to its items."""
    pending = []
    for part in _split_parts(responses, per_item):
        if part.join(rows, on=RESPONSE, how="semi").is_empty():
            pending.append(part)
    return pending


def _ask_part(part: pl.DataFrame, engine: TokenIdEngine, settings: PassSettings, requery_module: Any) -> pl.DataFrame:
    """The family's rows of one part; a response to another prompt than the one rendered here only gets the reason.

    `requery_module` has the family's functions `ask` and `unasked`. Raises ConfigError if no prompt matches.
    """
    prompts = engine.prompts([fill_prompt(settings["asked_with"], question) for question in part["question"]])
    # Imported traces may lack the prompt.
    matches = [
        prompt_hash in ("", prompt.hash) for prompt_hash, prompt in zip(part["prompt_hash"], prompts, strict=True)
    ]
    if not any(matches):
        raise ConfigError(
            f"models.{settings['asked_with']['model']}: none of {len(part)} prompts matches the prompt_hash of its "
            f"trace (first: item '{part['item_id'][0]}'); use the prompt, template and tokenizer with which the traces "
            "were generated"
        )
    ids = pl.Series([prompt.token_ids for prompt in prompts], dtype=pl.List(pl.UInt32))
    part = part.with_columns(prompt_ids=ids, has_prompt=pl.Series(matches))
    mismatched = part.filter(~pl.col("has_prompt")).with_columns(
        unusable=pl.lit("the prompt is not the one that was answered")
    )
    rows: pl.DataFrame = requery_module.ask(
        part.filter("has_prompt"), engine, settings["settings"], settings["asked_with"]
    )
    return pl.concat([rows, requery_module.unasked(mismatched, settings["settings"])]) if len(mismatched) else rows


def _split_parts(responses: pl.DataFrame, per_item: bool) -> list[pl.DataFrame]:
    """Parts of successive responses with about PART_TOKENS tokens; with `per_item`, no item is divided."""
    unit = ["item_id"] if per_item else RESPONSE  # columns that identify what is not divided
    tokens = responses.group_by(unit, maintain_order=True).agg(pl.col("n_tokens").cast(pl.Int64).sum())
    parts = tokens.select(*unit, part=(pl.col("n_tokens").cum_sum() - 1) // PART_TOKENS)
    numbered = responses.join(parts, on=unit, how="left", maintain_order="left")
    return numbered.partition_by("part", maintain_order=True, include_key=False)


def _hash_identity(settings: Mapping[str, Any], responses: pl.DataFrame) -> str:
    """What a finished part of an earlier job must match to be kept: the settings, the items and the responses."""
    digest = hashlib.sha256(
        json.dumps([dict(settings), PART_TOKENS, _list_identifying_rows(responses)], sort_keys=True).encode()
    )
    digest.update(_dump_token_ids(responses))
    return digest.hexdigest()[:16]


def _hash_content(responses: pl.DataFrame) -> str:
    """A hash of the items and the responses, and of how they are divided into parts, for the key of other studies."""
    digest = hashlib.sha256(json.dumps([PART_TOKENS, _list_identifying_rows(responses)]).encode())
    digest.update(_dump_token_ids(responses))
    return digest.hexdigest()


def _list_identifying_rows(responses: pl.DataFrame) -> list[tuple[Any, ...]]:
    """The columns on which the pass depends, besides the token ids."""
    return responses.select(*RESPONSE, "prompt_hash", "text", "question", "reference", "unusable").rows()


def _dump_token_ids(responses: pl.DataFrame) -> bytes:
    return flatten_lists(responses["token_ids"]).to_numpy().astype("<u4").tobytes()


def write_imported_pass(generations: str, settings: ImportedPass, output: str) -> None:
    """Import the rows of the file `settings["source"]` for the responses in `generations`, in their order.

    Responses without a row get one with that reason; they, and rows for items outside the study, are counted in
    the log and in the provenance. Raises InputError for an unusable value.
    """
    source, requery = settings["source"], FAMILIES[settings["family"]].requery
    assert requery is not None  # only such families have a pass
    responses = scan_traces(generations).select(RESPONSE).collect()
    frame, n_unused = import_pass(responses, source, requery)
    missing = responses.join(frame, on=RESPONSE, how="anti", maintain_order="left")
    if len(missing):
        log.warning("%s: has no row for %d of %d responses", source, len(missing), len(responses))
        unanswered = missing.with_columns(unusable=pl.lit("no row in the file of the pass"))
        rows = pl.concat([frame, load_requery_module(settings["family"]).unasked(unanswered, settings["settings"])])
        frame = responses.join(rows, on=RESPONSE, how="left", maintain_order="left_right").select(frame.columns)
    source_provenance = _read_source_provenance(source)
    recorded_settings = source_provenance.get("pass", {}).get("settings", {})
    for key, value in settings["settings"].items():
        recorded = recorded_settings.get(key, value)
        if recorded != value:
            where = f"signals.{settings['family']}.{key}"
            log.warning("%s: %s is %s, but the file was made with %s, which is used", source, where, value, recorded)
    origin = _read_origin(generations)
    trace_models = [origin[key] for key in ("model", "source_model") if origin.get(key)]
    for model in read_owners(source, "model"):
        if model not in trace_models:
            log.warning("%s: is of the model '%s', and the traces are of %s", source, model, " or ".join(trace_models))
    provenance = {"family": settings["family"], "pass": dict(settings), "source_pass": source_provenance}
    counts = {"missing_responses": len(missing), "unused_rows": n_unused}
    requery.contract.write(frame, output, {**origin, **provenance, **counts})


def _read_source_provenance(source: str) -> Mapping[str, Any]:
    """The file's own provenance; empty if another tool has written it."""
    try:
        return read_provenance(source)
    except ContractError:
        return {}
