# What the analysis `accuracy` calls its files, and what it shows: constants and functions for rules.smk.

from entropy_sentinel.study.analyses.accuracy import accuracy_exhibits as accuracy_catalogue
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import (
    list_compared_tables,
    list_paper_figures,
    list_paper_tables,
)
from entropy_sentinel.estimators.estimator_registry import RECOMMENDED

ACCURACY = CONFIG.analyses.accuracy
SWEEP, REPORT = (f"{RESULTS}/{ACCURACY.STAGES[stage].file}" for stage in ("sweep", "report"))
AUROC, DOMAINS = f"{RESULTS}/{{judge}}/auroc.parquet", f"{RESULTS}/{{judge}}/domains.parquet"
ACCURACY_TABLES = [f"{RESULTS}/{{judge}}/tables/table_{name}" for name in ACCURACY.tables]
ACCURACY_FIGURES = [f"{RESULTS}/{{judge}}/figures/figure_{name}" for name in ACCURACY.figures]
# Published values beside tables, of those that have any in a study of the paper's models.
ACCURACY_PUBLISHED = [
    f"{RESULTS}/{{judge}}/tables/table_{name}_published.csv" for name in list_compared_tables(ACCURACY.tables, MODELS)
]
# The paper's exhibits in its form, by name, and their files; none without that style.
ACCURACY_PAPER_TABLES = list_paper_tables(ACCURACY.tables) if ACCURACY.style == "paper" else []
ACCURACY_PAPER_FIGURES = list_paper_figures(ACCURACY.figures) if ACCURACY.style == "paper" else []
ACCURACY_PAPER = [
    *expand("{{judge}}/paper/table_{name}.tex", name=ACCURACY_PAPER_TABLES),
    *expand("{{judge}}/paper/figure_{name}.{kind}", name=ACCURACY_PAPER_FIGURES, kind=["pdf", "tex"]),
    *(["{judge}/paper/exhibits.tex"] if ACCURACY_PAPER_TABLES or ACCURACY_PAPER_FIGURES else []),
]
ACCURACY_PAPER = [f"{RESULTS}/{file}" for file in ACCURACY_PAPER]
ACCURACY_GROUP_FILES = {
    name: group_file(group.group_id) for name, group in group_estimates.find_report_groups(CONFIG).items()
}
ACCURACY_HEADLINE = expand(
    ESTIMATES, model=MODELS, group=ACCURACY_GROUP_FILES[ACCURACY.headline_group], allow_missing=True
)
# Of one seed alone the sweep has the errors already.
ACCURACY_SEEDS = ACCURACY.repeats if ACCURACY.repeats > 1 and "repeats" in ACCURACY.tables else 0
ACCURACY_REPEATS = f"{RESULTS}/{{judge}}/repeats/{{model}}.parquet"
# By group: its own estimator, or those of the named groups that share it, and the default.
ACCURACY_REPEATED = {
    group: sorted(
        {CONFIG.estimation.default}
        | {one.estimator for one in group_estimates.find_report_groups(CONFIG).values() if one.group_id == group}
    )
    for group in {one.group_id: None for one in group_estimates.find_report_groups(CONFIG).values()}
}
# Whether the recommended estimator can be trusted on a model, and the estimators that it is compared with.
ACCURACY_VALIDATION = f"{RESULTS}/{{judge}}/validation/{{model}}.json"
ACCURACY_VALIDATED = list(dict.fromkeys([RECOMMENDED, CONFIG.estimation.default, *CONFIG.estimation.estimators]))
