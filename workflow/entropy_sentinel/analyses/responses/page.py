"""Pages of single responses, one a model: their tokens coloured by how sure the model was of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.analyses.responses.choice import choose
from entropy_sentinel.analyses.responses.reading import (
    Response,
    ResponseFiles,
    Token,
    estimator_of,
    read_responses,
)
from entropy_sentinel.analyses.responses.token_texts import TokenTexts
from entropy_sentinel.estimators.catalogue import title
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.estimator import SCORES
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.report.pages import render

TEMPLATE = Path(__file__).with_name("responses.html.j2")
# Nats at which the colour is full: the entropy of 20 equally likely tokens, and the surprise of one of 5 %.
FULL = 3.0
# Longer questions, references and answers are cut: the page's size is bounded.
_LONGEST = 2000


def write_page(files: Mapping[str, Any], benchmarks: Sequence[str], settings: Mapping[str, Any], page: str) -> None:
    """Write the page of one model.

    `files` has the path `observations`, lists `benchmarks`, `generations` and `labels` with a path for each of
    `benchmarks`, and a list `scores` of one path or none. `settings` has `label`, `model`, `estimator` (whose
    P(correct) is preferred), `per_kind`, `most_tokens` and `alternatives`.

    A page has at most 4 x `per_kind` responses of a benchmark, `most_tokens` tokens of each and `alternatives` to each,
    and all its texts are cut: with the defaults a token takes at most some 600 bytes, mostly 200, and ten benchmarks
    some 3 MB.
    """
    scores_file = next(iter(files["scores"]), None)
    estimator = estimator_of(scores_file, settings["estimator"])
    scores = SCORES.read(scores_file).filter(pl.col("estimator") == estimator) if scores_file else SCORES.frame([])
    observations = OBSERVATIONS.read(files["observations"])
    domains = []
    for name, *paths in zip(benchmarks, files["benchmarks"], files["generations"], files["labels"], strict=True):
        chosen = choose(observations.filter(pl.col("benchmark") == name), scores, settings["per_kind"])
        found = read_responses(
            ResponseFiles(*paths, scores_file), chosen, estimator, settings["most_tokens"], settings["alternatives"]
        )
        domains.append((name, [(one, chosen[one.item_id, one.sample]) for one in found]))
    unnamed = any(token.text is None for _, found in domains for response, _ in found for token in response.tokens)
    missing = TokenTexts(read_provenance(files["generations"][0])).missing if unnamed else None
    content = render_page(settings["label"], settings["model"], estimator, domains, missing, settings["alternatives"])
    with whole_file(page) as partial:
        partial.write_text(content, encoding="utf-8")


def render_page(
    label: str,
    model: str,
    estimator: str | None,
    domains: Sequence[tuple[str, Sequence[tuple[Response, Sequence[str]]]]],
    no_texts: str | None,
    alternatives: int,
) -> str:
    """The page as HTML: `domains` are names of benchmarks with responses and the kinds that each is of.

    `no_texts` says why the tokens have no texts; null where they have.
    """
    return render(
        TEMPLATE,
        title=f"Single responses of {model}",
        label=label,
        estimator=title(estimator) if estimator else None,
        domains=domains,
        no_texts=no_texts,
        alternatives=alternatives,
        unnamed=no_texts is None and any(_unnamed(one) for _, responses in domains for one, _ in responses),
        full=FULL,
        shown=shown_text,
        told=told,
        parts=parts,
        cut=cut,
    )


def _unnamed(response: Response) -> bool:
    """Whether a likely token has no text, though the tokens of the response have theirs."""
    return any(text is None for token in response.tokens for text, _ in token.alternatives)


def parts(response: Response) -> list[Sequence[Token]]:
    """The tokens of a response that are shown: all in one part, or those before and after what is left out."""
    tokens = response.tokens
    if not response.left_out:
        return [tokens]
    head = next(place for place, token in enumerate(tokens) if token.position != place + 1)
    return [tokens[:head], tokens[head:]]


def shown_text(token: Token) -> str:
    """A token as the page shows it: line ends are visible, one without a text is its position."""
    if token.text is None:
        return f"{token.position} "
    return token.text.replace("\n", "\u21b5\n") or "\u00b7"


def told(token: Token) -> str:
    """What is shown about a token when it is pointed at."""
    name = f" {token.text!r}" if token.text is not None else ""
    lines = [
        f"token {token.position}{name}: {token.probability:.1%}",
        f"entropy {token.entropy:.2f} nats, surprise {token.surprise:.2f} nats",
    ]
    lines += [
        f"{rank}. {probability:.1%}{'' if text is None else f' {text!r}'}"
        for rank, (text, probability) in enumerate(token.alternatives, 1)
    ]
    return "\n".join(lines)


def cut(text: str) -> str:
    """At most 2,000 characters of a text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text) - _LONGEST:,} more characters)"
