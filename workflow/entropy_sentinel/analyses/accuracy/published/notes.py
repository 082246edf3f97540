"""Why values of this study differ from the published ones, as far as the paper and its authors' code tell."""

from collections.abc import Iterable, Mapping
from typing import Any

from entropy_sentinel.report.origins import Provenance, code_version

LABELS = (
    "Labels: the authors' judge was shown the whole response, and any of its replies that contained the word true "
    "counted as correct."
)
SCOPE = (
    "AEE and rho are over all ten domains, the training ones by their test split: the paper's text says held-out "
    "domains, but its values of rho are such as only ten domains give."
)
LATER_CODE = (
    "The authors' later code differs from the paper's text, which is followed here: L1 logistic regression with a "
    "grid, sigmoid calibration, one 70/30 split in place of five folds, weights and over-sampling before "
    "cross-validation."
)
TABLE_1 = "The paper's formulas of LNTP and MTP hold for its Tables 1 and 6, as everywhere here."
TABLE_7 = "The paper does not say the feature set of these groups; here it is 10D."
TABLE_9 = (
    "Each row is the same training group here and there, whatever its rank here. The paper does not say estimator and "
    "scope: here the default over all domains. Its weighted accuracies do not follow from the benchmarks' item counts."
)

_FORMULA = "cannot be matched: the authors' code has {} in its place"
_LNTP, _MTP = _FORMULA.format("sum(nll log nll)"), _FORMULA.format("max(nll log nll)")
_ORDER = "the authors' later results have 17D ahead of 10D (0.111, 0.137)"
_OTHER_AEE = "the paper's .087 is not the .08 of its own Table 3 for the same group"


def reason(table: str, row: Mapping[str, Any]) -> str | None:
    """Why a row of the comparison of this table differs, where it is known; `row` has the published columns."""
    number = table.partition("_")[0]
    match number, row.get("method") or row.get("setting") or row.get("group"):
        case ("3" | "8", "lntp"):
            return _LNTP
        case ("3" | "8", "mtp"):
            return _MTP
        case ("5", "17d" | "10d"):
            return _ORDER
        case ("9", "gsm8k+olympiadbench"):
            return _OTHER_AEE
    return None


def rests_on(generations: Provenance, labels: Provenance) -> str:
    """One line: models with their weights, engine, judge and code that this study's values are of."""
    models = {entry["model"]: f"{entry['model']} ({_weights(entry)})" for entry in generations}
    engines = {f"{entry.get('engine')} {entry.get('engine_version') or ''}".strip() for entry in generations}
    judges = {f"{entry['judge']} ({_first(entry, 'judge_version', 'kind')})" for entry in labels}
    return (
        f"This study's values rest on the models {_listed(models.values())}, run by {_listed(engines)}; labels by "
        f"{_listed(judges)}; code {code_version()}."
    )


def _weights(entry: Mapping[str, Any]) -> str:
    place = entry.get("weights") or (entry.get("api") or {}).get("model") or entry.get("source") or "unknown"
    commit = _first(entry, "commit", "revision")
    return place if commit == "unknown" else f"{place} at {commit[:12]}"


def _first(entry: Mapping[str, Any], *keys: str) -> str:
    return next((str(entry[key]) for key in keys if entry.get(key)), "unknown")


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))
