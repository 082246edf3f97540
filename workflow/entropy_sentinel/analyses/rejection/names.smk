# What the analysis `rejection` calls its files, and what it shows: constants and functions for rules.smk.

from entropy_sentinel.analyses.rejection.catalogue import QUESTION_ONLY

REJECTION = CONFIG.analyses.rejection
REJECTION_FOLDER = f"{RESULTS}/{{judge}}/rejection"
REJECTION_QUESTIONS = f"{REJECTION_FOLDER}/questions/{{model}}.parquet"
REJECTION_MEASURES = f"{REJECTION_FOLDER}/measures/{{model}}.parquet"
REJECTION_TABLES = [f"{REJECTION_FOLDER}/tables/table_{name}" for name in REJECTION.tables]
REJECTION_KEPT = study.kept_estimators(CONFIG, REJECTION.estimators)


def rejection_assessors():
    """The assessors that are shown, by training group: named groups of the same benchmarks share theirs."""
    found = {}
    for name in REJECTION.groups:
        found.setdefault(CONFIG.groups[name].group_id, {}).update(dict.fromkeys(REJECTION_KEPT[name]))
    return {group: [*names, QUESTION_ONLY] for group, names in found.items()}


def rejection_exhibits():
    """The figures to make: which one, its title, and the model that it is of, by the name of its files."""
    found = {}
    for name in REJECTION.figures:
        for model in MODELS if name == "curves_by_domain" else [None]:
            title = REJECTION.FIGURES[name] + (f", {model}" if model else "")
            found[f"{name}_{model}" if model else name] = {"figure": name, "title": title, "model": model}
    return found


REJECTION_ASSESSORS = rejection_assessors()
REJECTION_EXHIBITS = rejection_exhibits()
REJECTION_FIGURES = [f"{REJECTION_FOLDER}/figures/figure_{name}" for name in REJECTION_EXHIBITS]


def rejection_settings(*keys):
    """What is shown: of it those settings that a family of exhibits is made from."""
    return {
        **shown(REJECTION, "accuracies", *keys),
        "groups": {name: NAMED_GROUPS[name] for name in REJECTION.groups},
        "assessors": REJECTION_ASSESSORS,
    }
