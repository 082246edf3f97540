"""Single responses on a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.color import Color
from rich.style import Style
from rich.table import Table
from rich.text import Text

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.hub.token_texts import TokenTexts
from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.rendering.token_colours import FULL, Token
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.responses.response_traces import (
    AnnotatedResponse,
    ResponseFiles,
    ResponseKey,
    choose_responses,
    find_estimator,
    read_responses,
)
from entropy_sentinel.study.config.group_estimates import find_report_groups, list_kept_estimators
from entropy_sentinel.study.config.study_config import Config

# Red, green and blue: of white, and of orange.
_CHANNELS = ((255, 213), (255, 94), (255, 0))
_ALTERNATIVES = 5
# More than a response has.
_ALL_TOKENS = 10**9


@dataclass(frozen=True)
class ModelFiles:
    """Paths of one model's files, as templates over `{benchmark}`.

    `scores` is None if no estimator of the training group is kept, or it is not built yet. `estimator` is the one whose
    P(correct) is preferred.
    """

    items: str
    generations: str
    labels: str
    observations: str
    scores: str | None
    estimator: str | None

    def find_benchmark_files(self, benchmark: str) -> ResponseFiles:
        """The files of one benchmark; raises InputError if it has no traces yet."""
        traces = self.generations.format(benchmark=benchmark)
        if not Path(traces).is_file():
            raise InputError(f"{traces}: does not exist; build it with: snakemake generations")
        labels = self.labels.format(benchmark=benchmark)
        existing_labels = labels if Path(labels).is_file() else None
        return ResponseFiles(self.items.format(benchmark=benchmark), traces, existing_labels, self.scores)


def find_model_files(config: Config, judge: str, model: str) -> ModelFiles:
    """The files of a model of the study.

    P(correct) is from the training group that `analyses.responses.group` names, or else the first one.
    """
    layout, groups = config.layout, find_report_groups(config)
    preferred_group = dict(config.analyses)["responses"].group
    group = preferred_group if preferred_group in groups else next(iter(groups), None)
    # The paths keep `{benchmark}` as a placeholder.
    placeholders = {"judge": judge, "model": model, "name": group, "benchmark": "{benchmark}"}
    scores = layout.scores.format(**placeholders)
    has_scores = group in list_kept_estimators(config) and Path(scores).is_file()
    return ModelFiles(
        items=layout.items.format(**placeholders),
        generations=layout.generations.format(**placeholders),
        labels=layout.labels.format(**placeholders),
        observations=layout.observations.format(**placeholders),
        scores=scores if has_scores else None,
        estimator=groups[group].estimator if group else None,
    )


def list_candidates(model_files: ModelFiles, benchmark: str, per_kind: int) -> list[Part]:
    """A table of a benchmark's most instructive responses, up to `per_kind` of each kind such as "wrong but certain".

    The text below it names the estimator of P(correct).
    """
    if not Path(model_files.observations).is_file():
        raise InputError(f"{model_files.observations}: does not exist yet; name an item, or build it with snakemake")
    scores = SCORES.frame([])
    estimator = find_estimator(model_files.scores, model_files.estimator)
    if model_files.scores:
        scores = SCORES.read(model_files.scores).filter(pl.col("estimator") == estimator)
    observations = OBSERVATIONS.read(model_files.observations).filter(pl.col("benchmark") == benchmark)
    chosen = choose_responses(observations, scores, per_kind)
    responses = read_responses(
        model_files.find_benchmark_files(benchmark), chosen, estimator, most_tokens=0, alternatives=0
    )
    rows = []
    for response in responses:
        kinds = ", ".join(chosen[response.item_id, response.sample])
        rows.append(
            (response.item_id, str(response.sample), kinds, format_number(response.p_correct), response.verdict)
        )
    return [
        format_terminal_table(("item", "sample", "kind", "P(correct)", "label"), rows),
        _describe_estimator(estimator),
    ]


def describe_response(
    model_files: ModelFiles, benchmark: str, response_key: ResponseKey, by: str, n_listed: int
) -> list[Part]:
    """A response with its tokens coloured by `by` (`entropy`, `surprise`), and the `n_listed` most uncertain ones.

    Raises InputError if there is no such response.
    """
    response_files = model_files.find_benchmark_files(benchmark)
    estimator = find_estimator(model_files.scores, model_files.estimator)
    responses = read_responses(
        response_files, [response_key], estimator, most_tokens=_ALL_TOKENS, alternatives=_ALTERNATIVES
    )
    if not responses:
        first = pl.scan_parquet(response_files.generations, glob=False).select("item_id").head(1).collect().item()
        item_id, sample = response_key
        raise InputError(
            f"{response_files.generations}: has no response to item '{item_id}', sample {sample}; "
            f"ids look like '{first}'"
        )
    response = responses[0]
    reason_without_texts = None
    if not response.has_token_texts:
        reason_without_texts = TokenTexts(read_provenance(response_files.generations)).missing
    heading = Text(f"{response.item_id}, sample {response.sample}: {response.verdict}", style="bold")
    probability = _describe_estimator(estimator, f" {format_number(response.p_correct)}")
    answer = f"Reference: {response.reference or 'none'}"
    if response.answer:
        answer += f"; answer: {response.answer}"
    length = f"{response.n_tokens} tokens, ended by {response.finish_reason}"
    parts: list[Part] = [heading, probability, answer, length, "", Text(response.question, style="italic"), ""]
    if reason_without_texts:
        parts += [f"Tokens are shown by their position: {reason_without_texts}.", response.text]
    parts.append(colour_tokens(response, by) if response.tokens else response.text)
    uncertain_tokens = sorted(response.tokens, key=lambda token: getattr(token, by), reverse=True)[:n_listed]
    return [*parts, _tabulate_tokens(uncertain_tokens)] if uncertain_tokens else parts


def colour_tokens(response: AnnotatedResponse, by: str) -> Text:
    """Colour the tokens of a response: the more uncertain, the more orange, with full colour at 3 nats of `by`."""
    text = Text()
    for token in response.tokens:
        share = min(1.0, max(0.0, getattr(token, by) / FULL))
        red, green, blue = [round(white + (orange - white) * share) for white, orange in _CHANNELS]
        style = Style(color="black", bgcolor=Color.from_rgb(red, green, blue)) if share >= 0.05 else None
        text.append(f"{token.position} " if token.text is None else token.text, style)
    return text


def _tabulate_tokens(tokens: Sequence[Token]) -> Table:
    """A row for each token, with its certainty and the most likely tokens in its place."""
    rows = []
    for token in tokens:
        alternatives = [f"{p:.1%}" if text is None else f"{text!r} {p:.1%}" for text, p in token.alternatives]
        row = (
            str(token.position),
            "-" if token.text is None else repr(token.text),
            f"{token.probability:.1%}",
            f"{token.entropy:.2f}",
            f"{token.surprise:.2f}",
            "  ".join(alternatives),
        )
        rows.append(row)
    return format_terminal_table(
        ("token", "text", "probability", "entropy (nats)", "surprise (nats)", "most likely"), rows
    )


def _describe_estimator(estimator: str | None, p: str = "") -> str:
    """The line about P(correct); `p` is its value with a space before it."""
    if estimator is None:
        return "There is no P(correct): no estimator that gives one is kept, or it has not been built yet."
    return f"P(correct){p} by {estimator_title(estimator)}."
