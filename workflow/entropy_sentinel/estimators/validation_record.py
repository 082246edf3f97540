"""The validation of an estimator, as its file has it: the estimates of labelled domains, and what follows from them.

`estimators.leave_one_out` makes the estimates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, Field, Strict, TypeAdapter, model_validator, with_config

from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.estimators.field_types import (
    EXACT_FIELDS,
    MOST_DOMAINS,
    NAMED_FIELDS,
    Count,
    FiniteNumber,
    Share,
    Whole,
)
from entropy_sentinel.estimators.verdict import (
    FEWEST_DOMAINS,
    FEWEST_LABELS,
    LEVELS,
    TOO_FEW,
    UsabilityVerdict,
    explain_verdict,
)
from entropy_sentinel.estimators.verdict_limits import DEFAULT, Limits
from entropy_sentinel.estimators.witness_validation import WitnessSummary
from entropy_sentinel.formatting.text_format import format_count, format_html, format_number
from entropy_sentinel.schemas.witness_schema import WitnessKind, name_witness
from entropy_sentinel.statistics.conformal import measure_coverage
from entropy_sentinel.statistics.estimate_errors import evaluate_estimates
from entropy_sentinel.statistics.probability_calibration import BINS, Calibration, summarise_calibration
from entropy_sentinel.statistics.slice_intervals import Residuals


def _check_sums(sums: list[float]) -> list[float]:
    """The sums of a bin of P(correct), the first of which is the number of responses; raises ValueError for others."""
    if any(not 0 <= part <= sums[0] for part in sums):
        raise ValueError("must be sums between 0 and the number of responses")
    return sums


_Sums = Annotated[list[FiniteNumber], Field(min_length=4, max_length=4), AfterValidator(_check_sums)]


@with_config(EXACT_FIELDS)
@dataclass(frozen=True)
class Domain:
    """A labelled domain: its number of labels, the estimate without it or its group, and the true accuracy.

    Answers to one item, or in one cluster, are correlated: `n` is the effective number of independent labels, rounded
    down. If all items have equally many answers, it is the number of items.

    `estimated` is null, with the `reason`, if the estimator cannot be fitted on the others or the domain has too few
    labels to count. `scored` are the sums of P(correct) of the domain's responses
    (`statistics.probability_calibration.sum_by_bin`), null if the estimator has none.

    If the true accuracy rests on a judge (`estimators.witness_validation`), `n_judged` responses have a verdict, `n` of
    them a label, and the estimate is that of the judged ones. Its error has the sampling variance `noise`. The true
    accuracy can then lie outside of [0, 1], because clipping it would be a bias.
    """

    domain: str
    n: Count
    estimated: Share | None
    true: Annotated[float, Strict(), Field(ge=-1, le=2)]
    reason: str | None = None
    group: str | None = None
    scored: Annotated[list[_Sums], Field(min_length=BINS, max_length=BINS)] | None = None
    n_judged: Count | None = None
    noise: Annotated[float, Strict(), Field(ge=0, le=4)] | None = None

    @model_validator(mode="after")
    def _apply_current_rules(self) -> "Domain":
        """A domain of a file without an estimate that rests on few labels, which earlier releases counted."""
        if self.noise is None and not 0 <= self.true <= 1:
            raise ValueError("'true' must be between 0 and 1 without a judge")
        if self.noise is None and self.n < FEWEST_LABELS:
            return replace(self, estimated=None, reason=explain_few_labels(self.n))
        return self

    @property
    def signed(self) -> float | None:
        """Estimated minus true accuracy; None without an estimate."""
        return None if self.estimated is None else self.estimated - self.true

    @property
    def error(self) -> float:
        """The absolute error; 0 without an estimate."""
        return abs(self.signed or 0.0)


@dataclass(frozen=True)
class Coverage:
    """The number of domains whose interval of a level contains the truth; each interval uses the other domains' errors.

    `basis` is the kind of interval; `lower` and `upper` are Wilson's 95 % interval for the share.
    """

    level: float
    covered: int
    n: int
    lower: float
    upper: float
    basis: str


@dataclass(frozen=True)
class ValidationSummary:
    """What follows from the errors on the held-out domains (`Validation`)."""

    n_counted: int
    aee: float | None
    rho: float | None
    bias: float | None
    error_at_least: float | None
    error_at_most: float | None
    coverage: tuple[Coverage, ...]
    verdict: str
    reasons: tuple[str, ...]
    needed: str | None


# The order of the fields in a file.
_IN_FILE = (
    *("estimator", "n_domains", "n_counted", "domains", "aee", "rho", "bias", "error_at_least", "error_at_most"),
    *("coverage", "verdict", "reasons", "n_groups", "new_groups", "limits", "witnesses"),
)


@with_config(NAMED_FIELDS)
@dataclass(frozen=True, repr=False)
class Validation:
    """The leave-one-domain-out or leave-one-group-out validation of an estimator.

    `n_groups` is the number of groups, null if domains were left out one at a time. `new_groups` is the validation by
    groups, in that by domains; null without groups.

    `n_domains` is the number of domains that the estimator is fitted on; `n_counted` of them count, with FEWEST_LABELS
    labels and an estimate. The properties use these. `bias` is the mean of estimated minus true; `aee`, `rho` and
    `bias` are null if they cannot be computed. `estimators.verdict` explains `verdict`, `reasons`, the limits of the
    error on new domains, and the `limits` on which the verdict rests. `witnesses` made true
    accuracies more precise.
    """

    estimator: str
    n_domains: Whole
    domains: Annotated[tuple[Domain, ...], Field(max_length=MOST_DOMAINS)]
    n_groups: Count | None = None
    new_groups: "Validation | None" = None
    limits: Limits = DEFAULT
    witnesses: Annotated[tuple[WitnessSummary, ...], Field(max_length=MOST_DOMAINS)] = ()

    @model_validator(mode="before")
    @classmethod
    def _name_judge(cls, data: Any) -> Any:
        """A file's fields; those of earlier versions, with one judge without a name, get it as the only witness."""
        if not isinstance(data, dict) or not isinstance(judge := data.get("judge"), dict):
            return data
        kind = WitnessKind.VERDICT
        unnamed = {"name": name_witness(kind, None), "kind": kind, "model": None}
        return data | {"witnesses": [unnamed | {"auroc": None, "calibration_error": None} | judge]}

    @model_validator(mode="after")
    def _check_groups(self) -> "Validation":
        group_domains = self.new_groups.domains if self.new_groups else ()
        if group_domains and {domain.domain for domain in group_domains} != {domain.domain for domain in self.domains}:
            raise ValueError("'new_groups' must have the same domains")
        return self

    @cached_property
    def summary(self) -> ValidationSummary:
        """What follows from the estimates: errors, the coverage of intervals, and the verdict with its reasons."""
        domains, n_domains, n_groups = self.domains, self.n_domains, self.n_groups
        counted, residuals = _select_counted(domains), self.residuals
        errors = evaluate_estimates(residuals.estimated, residuals.true)
        bias = float(residuals.errors.mean()) if counted else None
        coverage: tuple[Coverage, ...] = ()
        if residuals.n_units < FEWEST_DOMAINS or errors.aee is None or bias is None:
            # Without held-out domains, because there are too few, their number is that of all.
            n_units = residuals.n_units if domains else n_groups or n_domains
            needed = _too_few_units(n_units, "group" if n_groups else "domain")
            outcome = UsabilityVerdict(TOO_FEW, (needed,), needed=needed)
        else:
            names = [domain.domain for domain in counted]
            n_judged = sum(domain.noise is not None for domain in counted)
            outcome = explain_verdict(names, residuals, errors.aee, errors.rho, bias, self.limits, n_judged)
            coverage = tuple(_count_covered(residuals, level) for level in LEVELS)
        return ValidationSummary(
            n_counted=len(counted),
            aee=errors.aee,
            rho=errors.rho,
            bias=bias,
            error_at_least=outcome.error_at_least,
            error_at_most=outcome.error_at_most,
            coverage=coverage,
            verdict=outcome.verdict,
            reasons=(*outcome.reasons, *_explain_uncounted(domains)),
            needed=outcome.needed,
        )

    @property
    def n_counted(self) -> int:
        """The number of domains that count."""
        return self.summary.n_counted

    @property
    def aee(self) -> float | None:
        """The mean absolute error."""
        return self.summary.aee

    @property
    def rho(self) -> float | None:
        """The rank correlation of estimates with the truth."""
        return self.summary.rho

    @property
    def bias(self) -> float | None:
        """The mean of estimated minus true accuracy."""
        return self.summary.bias

    @property
    def error_at_least(self) -> float | None:
        """The lower limit of the mean error on new domains."""
        return self.summary.error_at_least

    @property
    def error_at_most(self) -> float | None:
        """The upper limit of the mean error on new domains."""
        return self.summary.error_at_most

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        """How many intervals contain the truth, for each level."""
        return self.summary.coverage

    @property
    def verdict(self) -> str:
        """The verdict, such as `usable`."""
        return self.summary.verdict

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for the verdict, as sentences."""
        return self.summary.reasons

    @property
    def answers(self) -> "tuple[Validation, ...]":
        """This validation, and that by groups if there are groups: one for each question."""
        return (self, self.new_groups) if self.new_groups else (self,)

    @property
    def scope(self) -> str:
        """The new slices that the verdict is about, if domains have groups; else ""."""
        if self.n_groups:
            return " outside the labelled groups"
        return " for new slices of the labelled groups" if self.new_groups else ""

    @property
    def worst(self) -> Domain | None:
        """The domain with the largest error; None if none was estimated."""
        return max(_select_counted(self.domains), key=lambda domain: domain.error, default=None)

    @property
    def calibration(self) -> Calibration | None:
        """How calibrated P(correct) of single responses is on held-out domains; null if there is none."""
        return summarise_calibration(domain.scored for domain in self.domains if domain.scored is not None)

    @cached_property
    def residuals(self) -> Residuals:
        """The errors from which intervals for other slices are computed."""
        return _build_residuals(self.domains, self.n_domains, self.n_groups)

    def intervals(self, level: float) -> dict[str, tuple[float, float]]:
        """The interval of each estimated domain, by name, from the errors on the other domains."""
        names = [domain.domain for domain in _select_counted(self.domains)]
        if not names:
            return {}
        lower, upper, _ = self.residuals.held_out_intervals(level)
        return dict(zip(names, zip(lower.tolist(), upper.tolist(), strict=True), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The validation as JSON, with the summary that follows from it; `from_dict` ignores the summary."""
        groups = self.new_groups and self.new_groups.to_dict()
        limits = self.limits.model_dump()
        fields = asdict(self) | asdict(self.summary) | {"new_groups": groups, "limits": limits}
        return {name: fields[name] for name in _IN_FILE}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Validation":
        """The validation from JSON; what follows from it is computed anew. Raises ValidationError."""
        return TypeAdapter(cls).validate_python(fields)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of texts of a table with the estimate of each labelled domain without its labels."""
        is_judged = bool(self.witnesses)
        headings = ["domain", "labels", *(["verdicts"] if is_judged else []), "estimated", "true", "error"]
        without_group: dict[str, Domain] = {}
        if self.new_groups:
            without_group = {domain.domain: domain for domain in self.new_groups.domains}
            headings += ["without its group", "error"]
        rows = []
        for domain in self.domains:
            counts = [f"{domain.n:,}"]
            if is_judged:
                counts.append("-" if domain.n_judged is None else f"{domain.n_judged:,}")
            numbers = [
                format_number(domain.estimated),
                format_number(domain.true),
                format_number(domain.signed, "+.3f"),
            ]
            if apart := without_group.get(domain.domain):
                numbers += [format_number(apart.estimated), format_number(apart.signed, "+.3f")]
            rows.append([domain.domain, *counts, *numbers])
        return headings, rows

    def lines(self) -> list[str]:
        """Lines with the verdict's reasons, and the coverage of the intervals."""
        lines = list(self.reasons)
        for share in self.coverage:
            lines.append(
                f"{share.level:.0%} intervals contain the true accuracy of {share.covered} of {share.n} domains "
                f"({share.basis})"
            )
        return lines

    def __repr__(self) -> str:
        lines = []
        for answer in self.answers:
            lines.append(f"verdict on {answer.estimator}{answer.scope}: {answer.verdict}")
            lines += [f"  {make_one_line(reason)}" for reason in answer.reasons]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """HTML: verdict and reasons, the estimate of each labelled domain without its labels, and coverage."""
        parts = []
        for answer in self.answers:
            tables = [self.table()] if answer is self and self.domains else []
            parts.append(format_html(f"Verdict{answer.scope}: {answer.verdict}", answer.lines(), *tables))
        return "".join(parts)


def explain_few_labels(n: int) -> str:
    """The reason why a domain with `n` labels does not count."""
    return f"{format_count(n, 'label')}, fewer than {FEWEST_LABELS}: not counted"


def _too_few_units(n: int, unit: str) -> str:
    """The reason of the verdict if only `n` domains or groups, named by `unit`, have enough labels."""
    return (
        f"label {format_count(FEWEST_DOMAINS - n, f'more {unit}')}, because a verdict needs "
        f"{FEWEST_DOMAINS} {unit}s with "
        f"{FEWEST_LABELS} labels each, and an estimate from the others"
    )


def _select_counted(domains: tuple[Domain, ...]) -> list[Domain]:
    """The domains that count: those with an estimate."""
    return [domain for domain in domains if domain.estimated is not None]


def _build_residuals(domains: tuple[Domain, ...], n_domains: int, n_groups: int | None) -> Residuals:
    """The errors on the domains that count; with `n_groups`, those of one group are dependent."""
    counted = _select_counted(domains)
    groups = [domain.group or "" for domain in counted] if n_groups else None
    return collect_residuals(counted, n_groups or n_domains, groups)


def collect_residuals(domains: Sequence[Domain], n_training: int, groups: Sequence[str] | None = None) -> Residuals:
    """The errors on domains that have an estimate.

    `n_training` is the number of domains, or of groups if there are `groups` (k,), that the estimator is fitted on.
    """
    noise = None
    if any(domain.noise is not None for domain in domains):
        noise = [math.nan if domain.noise is None else domain.noise for domain in domains]
    return Residuals(
        [domain.estimated or 0.0 for domain in domains],
        [domain.true for domain in domains],
        [domain.n for domain in domains],
        n_training,
        groups=groups,
        noise=noise,
    )


def _explain_uncounted(domains: tuple[Domain, ...]) -> tuple[str, ...]:
    """Lines about the domains that do not count."""
    few, unfitted = [], []
    for domain in domains:
        # With `noise`, the true accuracy rests on a judge, and few labels are enough.
        if domain.n < FEWEST_LABELS and domain.noise is None:
            few.append(domain.domain)
        elif domain.estimated is None:
            unfitted.append(domain.domain)
    notes = []
    if few:
        notes.append(
            f"not counted, with fewer than {FEWEST_LABELS} labels: {len(few)} of {len(domains)} domains "
            f"({', '.join(few)})"
        )
    if unfitted:
        notes.append(f"not estimated: {len(unfitted)} of {len(domains)} domains ({', '.join(unfitted)})")
    return tuple(notes)


def _count_covered(residuals: Residuals, level: float) -> Coverage:
    """How many domains are inside the interval of this level that is computed from the other domains' errors."""
    lower, upper, basis = residuals.held_out_intervals(level)
    share, least, most = measure_coverage(lower, upper, residuals.true).require_values()
    return Coverage(level, covered=round(share * len(lower)), n=len(lower), lower=least, upper=most, basis=basis)
