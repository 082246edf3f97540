"""Pages of single responses, one per model, with tokens coloured by the model's certainty."""

from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

import polars as pl

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.hub.token_texts import TokenTexts
from entropy_sentinel.rendering.html_pages import render
from entropy_sentinel.rendering.token_colours import FULL, split_tokens, truncate_text
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.responses.response_traces import (
    HEIGHT,
    AnnotatedResponse,
    ResponseFiles,
    choose_responses,
    find_estimator,
    read_responses,
)

TEMPLATE = Path(__file__).with_name("responses.html.j2")


class PageFiles(TypedDict):
    """Files of one model's page: a path for each benchmark, and scores of one path or none.

    `asked` are the files of the pass `forced_answer`, in which the model is asked again about its responses; empty if
    the study does not run it.
    """

    observations: str
    benchmarks: Sequence[str]
    generations: Sequence[str]
    labels: Sequence[str]
    scores: Sequence[str]
    asked: NotRequired[Sequence[str]]


class PageSettings(TypedDict):
    """Settings of one model's page, which shows the P(correct) of `estimator`, or of another one if it is not kept."""

    label: str
    model: str
    estimator: str | None
    per_kind: int
    most_tokens: int
    alternatives: int


def write_page(files: PageFiles, benchmarks: Sequence[str], settings: PageSettings, page: str) -> None:
    """Write the page of one model; `files` has a path for each of the `benchmarks`.

    A page has at most 4 x `per_kind` responses of a benchmark, `most_tokens` tokens of each and `alternatives` to each,
    and all its texts are truncated: with the defaults a token takes at most 600 bytes, usually 200, and ten benchmarks
    about 3 MB.
    """
    scores_file = files["scores"][0] if files["scores"] else None
    estimator = find_estimator(scores_file, settings["estimator"])
    scores = SCORES.read(scores_file).filter(pl.col("estimator") == estimator) if scores_file else SCORES.frame([])
    observations = OBSERVATIONS.read(files["observations"])
    passes: Sequence[str | None] = files.get("asked") or [None] * len(benchmarks)
    domains = []
    has_texts = True  # whether the texts of all tokens are known
    for name, items, traces, labels, pass_file in zip(
        benchmarks, files["benchmarks"], files["generations"], files["labels"], passes, strict=True
    ):
        # The kinds of each response, such as "wrong but certain".
        chosen = choose_responses(observations.filter(pl.col("benchmark") == name), scores, settings["per_kind"])
        responses = read_responses(
            ResponseFiles(items, traces, labels, scores_file, pass_file),
            chosen,
            estimator,
            settings["most_tokens"],
            settings["alternatives"],
        )
        domains.append((name, [(response, chosen[response.item_id, response.sample]) for response in responses]))
        has_texts = has_texts and all(response.has_token_texts for response in responses)
    reason_without_texts = None if has_texts else TokenTexts(read_provenance(files["generations"][0])).missing
    content = render_page(
        settings["label"], settings["model"], estimator, domains, reason_without_texts, settings["alternatives"]
    )
    write_whole(page, content)


def render_page(
    label: str,
    model: str,
    estimator: str | None,
    domains: Sequence[tuple[str, Sequence[tuple[AnnotatedResponse, Sequence[str]]]]],
    no_texts: str | None,
    alternatives: int,
) -> str:
    """Render the page as HTML; `domains` are names of benchmarks with their responses and each response's kinds.

    The kinds are those of `response_traces.choose_responses`. `no_texts` says why the tokens have no texts; None if
    they have texts. `alternatives` is the number of likely tokens shown for each token.
    """
    all_responses = [response for _, responses in domains for response, _ in responses]
    return render(
        TEMPLATE,
        title=f"Single responses of {model}",
        label=label,
        estimator=estimator_title(estimator) if estimator else None,
        domains=domains,
        no_texts=no_texts,
        alternatives=alternatives,
        unnamed=no_texts is None and not all(response.has_alternative_texts for response in all_responses),
        full=FULL,
        height=HEIGHT,
        parts=split_tokens,
        cut=truncate_text,
    )
