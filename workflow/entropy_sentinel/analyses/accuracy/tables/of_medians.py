"""Tables of medians and IQRs of estimators: over models (3), over models and groups (5).

IQRs follow the quartile rule of the paper's Table 3 (`statistics.spread.quartile_range`).
"""

import polars as pl

from entropy_sentinel.analyses.accuracy.measuring.aggregation import (
    IQR_NOTE,
    MEASURES,
    against_simple,
    fully_swept,
    names_in,
    null_notes,
    spread,
)
from entropy_sentinel.analyses.headings import (
    SCOPE_NOTE,
    SCOPES,
    Groups,
    group_benchmarks,
    training_group,
)
from entropy_sentinel.estimators.catalogue import CLASSIFIERS, CONFIGURATION_NAMES, parse
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.report.tables import Table, number_frame

_SPREAD_HEADINGS = [
    f"{what} {title}, {scope_title}"
    for scope_title in SCOPES.values()
    for title in MEASURES.values()
    for what in ("Median", "IQR of")
]


def _spreads(rows: pl.DataFrame) -> dict[str, float | None]:
    """Median and IQR of AEE and rho, for each scope, under _SPREAD_HEADINGS."""
    values = [
        value
        for scope in SCOPES
        for measure in MEASURES
        for value in spread(rows.filter(pl.col("scope") == scope)[measure])
    ]
    return dict(zip(_SPREAD_HEADINGS, values, strict=True))


def table_3_simple_estimators(sweep: pl.DataFrame, groups: Groups, headline_group: str) -> Table:
    """The default against the simple estimators: median and IQR over models."""
    group = training_group(groups, headline_group)
    picked, titles = against_simple(sweep, group)
    rows = [
        {"Estimator": title} | _spreads(picked.filter(pl.col("estimator") == name)) for name, title in titles.items()
    ]
    models = counted(picked["model"].n_unique(), "model")
    return Table(
        f"The default estimator against simple estimators: median and IQR over {models}, training group {group.title}.",
        number_frame(rows, ["Estimator"], _SPREAD_HEADINGS),
        (SCOPE_NOTE, IQR_NOTE, f"Default: {group.estimator}.", *null_notes(picked)),
    )


def table_5_design_choices(sweep: pl.DataFrame) -> Table:
    """Main effects of the four design choices, over models and the groups that ran all 48 configurations."""
    picked = fully_swept(sweep)
    rows = []
    for factor, settings in design_choices().items():
        for setting, names in settings.items():
            chosen = picked.filter(pl.col("estimator").is_in(names))
            rows.append({"Factor": factor, "Setting": setting} | _spreads(chosen))
    groups = names_in(picked, "group")
    listed = "; ".join(map(group_benchmarks, groups)) if len(groups) <= 4 else f"{len(groups)} training groups"
    return Table(
        "Main effects of the estimator's design: median and IQR over models and the training groups with all "
        f"48 configurations ({listed or 'none'}).",
        number_frame(rows, ["Factor", "Setting"], _SPREAD_HEADINGS),
        (SCOPE_NOTE, IQR_NOTE, *null_notes(picked)),
    )


def design_choices() -> dict[str, dict[str, list[str]]]:
    """For each factor and setting of Table 5, the names of the configurations that have it."""
    choices: dict[str, dict[str, list[str]]] = {
        "Classifier": {},
        "Calibration": {},
        "Balancing": {},
        "Features": {},
    }
    for name in CONFIGURATION_NAMES:
        configuration = parse(name)
        settings = {
            "Classifier": CLASSIFIERS[configuration.classifier],
            "Calibration": "isotonic" if configuration.isotonic else "none",
            "Balancing": "yes" if configuration.balanced else "no",
            "Features": configuration.features.upper(),
        }
        for factor, setting in settings.items():
            choices[factor].setdefault(setting, []).append(name)
    return choices
