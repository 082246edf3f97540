"""Stage `labels`: label every response as correct or incorrect by a judge."""

import json
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.judges.composite import COMBINATIONS
from entropy_sentinel.judges.judge_base import JudgeSettings
from entropy_sentinel.judges.judge_interface import Case, Judge, Verdict
from entropy_sentinel.judges.judge_registry import make_judge
from entropy_sentinel.llm_client.server_settings import announce_address
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import CUT_OFF, GENERATIONS
from entropy_sentinel.schemas.label_schema import FITTING_KIND, LABELS, NO_REFERENCE
from entropy_sentinel.schemas.response_schema import SAMPLE
from entropy_sentinel.study.engines.vllm_server import run_server
from entropy_sentinel.study.items.trace_import import import_labels
from entropy_sentinel.study.jobs.result_reuse import REUSE_KEY, compute_reuse_key, reuse_output, share_output

log = logging.getLogger(__name__)


def write_labels(
    benchmark: str, generations: str, settings: JudgeSettings, output: str, sources: Sequence[str] = ()
) -> None:
    """Label the responses in the file `generations` by the judge of the settings.

    `sources` are the files with the labels of judges of kind `file`; they are checked and imported, also for items
    without a reference. No other judge is asked about these: the label is null. Labels that another study has are
    copied (study/jobs/result_reuse.py).
    """
    labeller = _Labeller(benchmark, generations, sources)
    if not labeller.reuse(settings, output):
        _write_judge_labels(labeller, settings, output)


def _write_judge_labels(labeller: "_Labeller", settings: JudgeSettings, output: str) -> None:
    """Write the labels that the judge gives, and share them."""
    frame, facts = labeller(settings, labeller.responses)
    write_exchanges(labeller.exchanges, output)
    judged = frame.filter(pl.col("reason").ne_missing(NO_REFERENCE))
    if len(judged) and judged["label"].null_count() == len(judged):
        reason, count = judged["reason"].value_counts(sort=True).row(0)
        log.warning("the judge gave no label to any of %d responses: %s (%d)", len(judged), reason, count)
        # The report names a kind of judge that suits these references.
        facts[FITTING_KIND] = _suggest_kind(labeller.items)
    # A benchmark may have its own judge in place of the study's: the path has the name of the study's, and so must
    # `judge` (study/jobs/job_inputs.py).
    judge_names = {"judge": settings["replaces"], "labelled_by": settings["judge"]} if "replaces" in settings else {}
    provenance = {**settings, **judge_names, **labeller.domain, **facts}
    if labeller.sources:  # imported
        LABELS.write(frame, output, provenance)
        return
    key = labeller.compute_key(settings)
    LABELS.write(frame, output, {**provenance, REUSE_KEY: key})
    share_output(output, key, LABELS.stage)


def _suggest_kind(items: pl.DataFrame) -> str:
    """The kind of judge that suits the references of `items` (contract BENCHMARKS); without any, `file`: people."""
    from entropy_sentinel.judges.answer_structure import choose_judge_kind  # imports a computer algebra system

    rows = items.select("question", "reference").drop_nulls("reference")
    return choose_judge_kind(rows.iter_rows()) if len(rows) else "file"


class _Labeller:
    """Asks judges of any kind about the responses of one file to the items of another.

    `domain` has model and benchmark; `sources` are the files of imported labels, if the judge has some; `exchanges` are
    the requests and replies so far that gave no label.
    """

    def __init__(self, benchmark: str, generations: str, sources: Sequence[str]) -> None:
        self.benchmark, self.sources = benchmark, sources
        origin = read_provenance(generations)
        self.domain: dict[str, str] = {name: origin[name] for name in ("model", "benchmark") if name in origin}
        self.exchanges: list[dict[str, Any]] = []
        self.responses = GENERATIONS.read(generations, [*SAMPLE, "text", "finish_reason"])

    @cached_property
    def items(self) -> pl.DataFrame:
        return BENCHMARKS.read(self.benchmark)

    def compute_key(self, settings: JudgeSettings) -> str:
        """The key of the labels for other studies: settings, items and responses."""
        items = self.items.select("item_id", "question", "reference").rows()
        return compute_reuse_key(LABELS.stage, settings, self.domain, items, self.responses.rows())

    def reuse(self, settings: JudgeSettings, output: str) -> bool:
        """Copy the labels of another study to `output`; return False without any, and for imported labels."""
        if self.sources:
            return False
        study = Path(output).parents[3]  # of <study>/labels/<judge>/<model>/<benchmark>.parquet
        return reuse_output(output, study, self.compute_key(settings), LABELS, self.responses.select(SAMPLE))

    def __call__(self, settings: JudgeSettings, responses: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
        """A frame of contract LABELS on these responses, and facts for its provenance, by a judge of any kind."""
        if settings["kind"] in COMBINATIONS:
            return self._combine_judges(settings, responses)
        if settings["kind"] == "file":
            return self._import_labels(settings, responses)
        referenced = responses.join(self.items.drop_nulls("reference"), on="item_id", how="semi")
        judge = None if referenced.is_empty() else make_judge(settings)
        frame, exchanges = label_responses(self.items, responses, judge, self.domain)
        self.exchanges += exchanges
        return frame, {"judge_version": judge and judge.software}

    def _import_labels(self, settings: JudgeSettings, responses: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The labels of `responses` from the judge's folder of files, and facts for the provenance."""
        # A file is in the model's folder within the judge's: see judges/judge_kinds.py.
        model_files = [path for path in self.sources if Path(path).parents[1] == Path(settings["path"])]
        if not model_files:
            # The benchmark has no references and no file of labels.
            return label_responses(self.items, responses, None)[0], {"source": None}
        source = model_files[0]
        # The file is checked against all responses, including those that this judge does not label.
        frame, counts = import_labels(self.responses, source)
        frame = responses.select(SAMPLE).join(frame, on=SAMPLE, how="left", maintain_order="left")
        return frame.select(LABELS.schema.names()), {"source": source, **counts}

    def _combine_judges(self, settings: JudgeSettings, responses: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The labels by a combination of judges, its members, and for the provenance their counts and facts by name."""
        facts: dict[str, Any] = {}

        def ask_member(name: str, responses: pl.DataFrame) -> pl.DataFrame:
            frame, facts[name] = self(settings["members"][name], responses)
            return frame

        members = {name: partial(ask_member, name) for name in settings["judges"]}
        frame, counts = COMBINATIONS[settings["kind"]](members, responses)
        for name, count in counts.items():
            log.info("%s labelled %d of %d responses that it was asked about", name, count["labelled"], count["asked"])
            count.update(facts.get(name, {}))
        return frame, {"counts": counts}


def write_served_labels(
    benchmarks: Sequence[str],
    generations: Sequence[str],
    settings: JudgeSettings,
    threads: int,
    outputs: Sequence[str],
) -> None:
    """Label a model's responses to several benchmarks by a judge that a server has loaded, once for all of them.

    The server gets `threads` CPU cores and ends with the labels. It is not started if other studies have all of them.
    Raises EntropySentinelError if the server ends before it is up.
    """
    pending = []
    for benchmark, responses, output in zip(benchmarks, generations, outputs, strict=True):
        labeller = _Labeller(benchmark, responses, ())
        if not labeller.reuse(settings, output):
            pending.append((labeller, output))
    if not pending:
        return
    with run_server(settings["server"], threads) as base_url:
        announce_address(f"judges.{settings['judge']}", base_url)
        for labeller, output in pending:
            _write_judge_labels(labeller, settings, output)


def write_exchanges(exchanges: list[dict[str, Any]], output: str) -> None:
    """Write the requests and replies that gave no label, a line each, beside the labels."""
    path = Path(output).with_suffix(".unreadable.jsonl")
    path.unlink(missing_ok=True)
    if exchanges:
        with whole_file(path) as partial:
            lines = [json.dumps(exchange) + "\n" for exchange in exchanges]
            partial.write_text("".join(lines))


def label_responses(
    items: pl.DataFrame, responses: pl.DataFrame, judge: Judge | None, domain: Mapping[str, str] | None = None
) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Verdicts on `responses` (item_id, sample, text, finish_reason) to `items`: a frame of contract LABELS.

    Also returns the exchanges with the judge that gave no label, each with its item_id and sample. The judge sees only
    responses to items with a reference; without any, it may be None. `domain` has their model and benchmark.
    """
    joined = responses.with_columns(cut_off=CUT_OFF).join(items, on="item_id", how="left", maintain_order="left")
    referenced = joined["reference"].is_not_null()
    cases = []
    for row in joined.filter(referenced).iter_rows(named=True):
        cases.append(Case(row["question"], row["text"], row["reference"], truncated=row["cut_off"], **(domain or {})))
    judged = judge.judge(cases) if judge else []
    if len(judged) != len(cases) or not all(isinstance(verdict, Verdict) for verdict in judged):
        raise InputError(
            f"judge {judge and judge.software}: must return a Verdict for each of {len(cases)} cases, returned "
            f"{len(judged)}: {judged[:1]!r:.100}"
        )
    verdicts = [Verdict(None, reason=NO_REFERENCE)] * len(joined)
    for index, verdict in zip(referenced.arg_true(), judged, strict=True):
        verdicts[index] = verdict
    frame = LABELS.frame(
        {
            "item_id": joined["item_id"],
            "sample": joined["sample"],
            "label": [verdict.label for verdict in verdicts],
            "reason": [verdict.reason for verdict in verdicts],
            "answer": [verdict.answer for verdict in verdicts],
            "caution": [verdict.caution for verdict in verdicts],
        }
    )
    exchanges = []
    for (item_id, sample), verdict in zip(joined.select(SAMPLE).rows(), verdicts, strict=True):
        if verdict.exchange:
            row_fields = {"item_id": item_id, "sample": sample, "reason": verdict.reason}
            exchanges.append(row_fields | dict(verdict.exchange))
    return frame, exchanges
