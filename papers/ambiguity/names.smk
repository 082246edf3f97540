# What the analysis `ambiguity` calls its files, and what it shows: constants and functions for rules.smk.

from papers.ambiguity import ambiguity_exhibits as ambiguity_catalogue
from papers.ambiguity.ambiguity_exhibits import (
    ESTIMATORS as AMBIGUITY_ESTIMATORS,
    is_table_comparable as ambiguity_comparable,
)
from papers.ambiguity.ambiguity_settings import NEEDS as AMBIGUITY_GROUPING
from entropy_sentinel.study.semantic_clustering.backend_settings import (
    BACKENDS as GROUPING_BACKENDS,
)

AMBIGUITY = CONFIG.analyses.ambiguity
AMBIGUITY_BENCHMARKS = AMBIGUITY.benchmarks
AMBIGUITY_BACKEND = GROUPING_BACKENDS[CONFIG.signals.semantics.backend]
# Those whose estimators are compared, of the families that are run.
AMBIGUITY_FAMILIES = [one.family for one in AMBIGUITY_ESTIMATORS.values() if one.family in SIGNAL_FAMILIES]
AMBIGUITY_FOLDER = f"{RESULTS}/ambiguity"
AMBIGUITY_ALIGNED = f"{AMBIGUITY_FOLDER}/aligned/{{model}}/{{benchmark}}.parquet"
AMBIGUITY_UNCERTAINTIES = f"{AMBIGUITY_FOLDER}/uncertainties/{{model}}.parquet"
AMBIGUITY_ESTIMATES = f"{AMBIGUITY_FOLDER}/estimators/{{model}}.parquet"
AMBIGUITY_CONCORDANCES = f"{AMBIGUITY_FOLDER}/concordances.parquet"
AMBIGUITY_AUROCS = f"{AMBIGUITY_FOLDER}/aurocs.parquet"
AMBIGUITY_P_STARS = f"{AMBIGUITY_FOLDER}/p_star.parquet"
AMBIGUITY_TABLES = [f"{AMBIGUITY_FOLDER}/tables/table_{name}" for name in AMBIGUITY.tables]
AMBIGUITY_PUBLISHED = [
    f"{AMBIGUITY_FOLDER}/tables/table_{name}_published.csv"
    for name in AMBIGUITY.tables
    if ambiguity_comparable(name, MODELS, AMBIGUITY_BENCHMARKS)
]
AMBIGUITY_EXHIBITS = drawn_figures(AMBIGUITY, "3_relationship")
AMBIGUITY_FIGURES = [f"{AMBIGUITY_FOLDER}/figures/figure_{name}" for name in AMBIGUITY_EXHIBITS]
AMBIGUITY_EXHIBIT_SETTINGS = {
    "label": AMBIGUITY.label(CONFIG.study),
    "models": MODELS,
    "benchmarks": AMBIGUITY_BENCHMARKS,
    "source": AMBIGUITY.source,
    "epsilon": AMBIGUITY.epsilon,
    "grouping": AMBIGUITY_BACKEND.name,
}
