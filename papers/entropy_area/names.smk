# What the analysis `entropy_area` calls its files, and what it shows: constants and functions for rules.smk.

from papers.entropy_area import area_exhibits as entropy_area_catalogue
from papers.entropy_area.area_exhibits import has_published_values as area_has_published_values
from papers.entropy_area.area_settings import NEEDS as AREA_FAMILY

AREA = CONFIG.analyses.entropy_area
AREA_BENCHMARKS = CONFIG.labelled_benchmarks
AREA_SETS = AREA.sets(AREA_BENCHMARKS)
AREA_ANSWERS = CONFIG.signals.forced_answer.answers
AREA_FOLDER = f"{RESULTS}/{{judge}}/entropy_area"
AREA_CLASSES = f"{AREA_FOLDER}/answers/{{model}}/{{benchmark}}.parquet"
AREA_RESPONSES = f"{AREA_FOLDER}/responses/{{model}}.parquet"
AREA_ITEMS = f"{AREA_FOLDER}/items/{{model}}.parquet"
AREA_TRUNCATION = f"{AREA_FOLDER}/truncation/{{model}}.parquet"
AREA_CORRELATIONS = f"{AREA_FOLDER}/correlations.parquet"
AREA_SPREAD = f"{AREA_FOLDER}/spread.parquet"
AREA_TABLES = [f"{AREA_FOLDER}/tables/table_{name}" for name in AREA.tables]
AREA_PUBLISHED = [
    f"{AREA_FOLDER}/tables/table_{name}_published.csv"
    for name in AREA.tables
    if area_has_published_values(name, MODELS, AREA_SETS, AREA_ANSWERS)
]
try:
    AREA_ANSWER = AREA.choose_answer(AREA_ANSWERS)
except ValueError as error:
    raise WorkflowError(str(error)) from None


def area_exhibits():
    """The figures to make, by the name of their files: which one, its title, its model, and its set of benchmarks."""
    figures = {}
    for name in AREA.figures:
        models = [AREA.figure_model] if name == "1_trajectory" else MODELS
        for model in models:
            for benchmark in AREA_SETS if name == "2_correlations" else [None]:
                title_parts = [] if name == "1_trajectory" else [part for part in (model, benchmark) if part]
                title = ", ".join([AREA.FIGURES[name], *title_parts])
                exhibit = {"figure": name, "title": title, "model": model, "benchmark": benchmark}
                figures["_".join([name, *title_parts])] = exhibit
    return figures


AREA_EXHIBITS = area_exhibits()
AREA_FIGURES = [f"{AREA_FOLDER}/figures/figure_{name}" for name in AREA_EXHIBITS]
AREA_SHOWN = {
    "label": AREA.label(CONFIG.study),
    "sets": AREA_SETS,
    "answers": AREA_ANSWERS,
    "answer": AREA_ANSWER,
    "alpha": AREA.alpha,
}
# The pass of the family on all benchmarks with references.
AREA_PASSES = expand(PASSES, family=AREA_FAMILY, benchmark=AREA_BENCHMARKS, allow_missing=True)
