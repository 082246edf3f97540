"""Write the page of `fit`: the verdicts, each with three sentences and all its reasons, and the pictures."""

from collections.abc import Iterator
from pathlib import Path

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.validation_record import Validation
from entropy_sentinel.estimators.verdict import NO_USE, RANKING, USABLE
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.showing.validation_diagrams import compare_domains, draw_domains, draw_reliability
from entropy_sentinel.rendering.html_pages import render

_PAGE = Path(__file__).with_name("validation.html.j2")


def write_validation(fitted: FittedEstimator, path: str | Path) -> None:
    """Write the page in one step."""
    metadata, validation = fitted.metadata, fitted.validation
    diagrams = [draw_domains(validation), draw_reliability(validation)]
    content = render(
        _PAGE,
        title="Validation",
        label=f"{fitted.estimator.name} of {metadata.model}, fitted on {metadata.n_training_rows:,} responses",
        answers=[(answer, [*explain_verdict(answer)]) for answer in (validation.answers if validation else ())],
        diagrams=[diagram for diagram in diagrams if diagram is not None],
        domains=compare_domains(validation),
    )
    write_whole(path, content)


def explain_verdict(answer: Validation) -> Iterator[str]:
    """Yield at most three sentences: what the verdict allows, the errors found, and the error on new domains."""
    yield _explain_use(answer)
    summary, worst = answer.summary, answer.worst
    if summary.aee is None or worst is None:
        return
    yield (
        f"The estimates of {format_count(summary.n_counted, 'held-out domain')} were off by "
        f"{summary.aee:.3f} on average, "
        f"and by {worst.error:.3f} at most ({worst.domain}: estimated {worst.estimated:.3f}, true {worst.true:.3f})."
    )
    least, most, limit = summary.error_at_least, summary.error_at_most, answer.limits.usable_error
    if least is None or most is None:
        return
    confidence = f"{100 * answer.limits.confidence:g}%"
    if most <= limit:
        error = f"at most {most:.3f}, with {confidence} confidence"
    elif least >= limit:
        error = f"at least {least:.3f}, with {confidence} confidence"
    else:
        error = f"between {least:.3f} and {most:.3f} ({confidence} confidence in each limit)"
    yield f"On new domains the mean error is {error}; for the verdict usable it must be at most {limit:g}."


def _explain_use(answer: Validation) -> str:
    """A sentence that says what users may do with the estimates."""
    if answer.verdict == USABLE:
        return f"You can use the estimates{answer.scope or ' for new slices that are like the labelled domains'}."
    if answer.verdict == RANKING:
        return f"Use the estimates{answer.scope} only to rank slices: the accuracies are too far off."
    if answer.verdict == NO_USE:
        return f"Do not use the estimates{answer.scope}: they are too far off, and nothing shows that they rank slices."
    units = "groups" if answer.n_groups else "domains"
    needed = answer.summary.needed or ""
    return f"There are too few labelled {units} for a verdict{answer.scope}. {needed[:1].upper()}{needed[1:]}."
