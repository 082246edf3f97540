"""An estimator and its validation as a notebook shows them."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.frames.notebook import html
from entropy_sentinel.frames.numbers import number

# Domains that are named.
_NAMED = 4


def lines(name: str, about: Mapping[str, Any]) -> list[str]:
    """An estimator in a few lines: what it is, what it was fitted on, and the verdict of its validation."""
    domains = str(about.get("group") or "?").split("+")
    named = ", ".join(domains[:_NAMED]) + (", ..." if len(domains) > _NAMED else "")
    chosen = (about.get("chosen") or {}).get("method")
    logprobs = ", ".join(f"{key} {value}" for key, value in about["logprobs"].items() if value is not None)
    rows = about.get("n_training_rows")
    found = [
        f"{name}{f' ({chosen})' if chosen else ''} of model {about.get('model')}",
        f"fitted on {f'{rows:,} responses to ' if rows is not None else ''}{len(domains)} domains: {named}",
        f"log-probabilities: {logprobs or 'not known'}",
    ]
    if ambiguous := about.get("ambiguous"):
        shares = [f"{domain} {one['share']:.0%} of {one['n_questions']:,}" for domain, one in ambiguous.items()]
        found.append(f"questions that get several answers again and again: {', '.join(shares)}")
    if about.get("validation"):
        validation = Validation.from_dict(about["validation"])
        return [*found, f"verdict: {validation.verdict}; {validation.reasons[0]}"]
    return [*found, "verdict: has no validation"]


def estimator_as_html(name: str, about: Mapping[str, Any]) -> str:
    """The same with its validation."""
    said = about.get("validation")
    first, *others = lines(name, about)
    return html(first, others[:-1] if said else others) + (
        validation_as_html(Validation.from_dict(said)) if said else ""
    )


def validation_as_html(validation: Validation) -> str:
    """Verdict and reasons, each labelled domain as estimated by the others, how often intervals hold."""
    domains = [
        [
            one.domain,
            f"{one.n:,}",
            number(one.estimated),
            number(one.true),
            number(None if one.estimated is None else one.estimated - one.true, "+.3f"),
        ]
        for one in validation.domains
    ]
    held = [
        f"{one.level:.0%} intervals hold the truth of {one.covered} of {one.n} domains ({one.basis})"
        for one in validation.coverage
    ]
    tables = [(("domain", "labels", "estimated", "true", "error"), domains)] if domains else []
    return html(f"Verdict: {validation.verdict}", [*validation.reasons, *held], *tables)
