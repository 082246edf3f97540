# What the analysis `rejection` calls its files, and what it shows: constants and functions for rules.smk.

from papers.rejection import rejection_exhibits as rejection_catalogue
from papers.rejection.rejection_exhibits import QUESTION_ONLY

REJECTION = CONFIG.analyses.rejection
REJECTION_FOLDER = f"{RESULTS}/{{judge}}/rejection"
REJECTION_QUESTIONS = f"{REJECTION_FOLDER}/questions/{{model}}.parquet"
REJECTION_MEASURES = f"{REJECTION_FOLDER}/measures/{{model}}.parquet"
REJECTION_TABLES = [f"{REJECTION_FOLDER}/tables/table_{name}" for name in REJECTION.tables]
REJECTION_KEPT = group_estimates.list_kept_estimators(CONFIG, REJECTION.estimators)


def rejection_assessors():
    """The assessors that are shown, by training group: named groups of the same benchmarks share theirs."""
    found = {}
    for name in REJECTION.groups:
        found.setdefault(CONFIG.groups[name].group_id, {}).update(dict.fromkeys(REJECTION_KEPT[name]))
    return {group: [*names, QUESTION_ONLY] for group, names in found.items()}


REJECTION_ASSESSORS = rejection_assessors()
REJECTION_EXHIBITS = drawn_figures(REJECTION, "curves_by_domain")
REJECTION_FIGURES = [f"{REJECTION_FOLDER}/figures/figure_{name}" for name in REJECTION_EXHIBITS]


def rejection_settings(*keys):
    """What is shown: of it those settings that a family of exhibits is made from."""
    return {
        **shown(REJECTION, "accuracies", *keys),
        "groups": {name: NAMED_GROUPS[name] for name in REJECTION.groups},
        "assessors": REJECTION_ASSESSORS,
    }
