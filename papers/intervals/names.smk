# What the analysis `intervals` calls its files: constants for rules.smk.

from papers.intervals import interval_exhibits as intervals_catalogue
from papers.intervals.interval_exhibits import PUBLISHED_FOLDER as INTERVALS_PAPER
from papers.intervals.interval_settings import FAMILY as INTEGER_FAMILY

INTERVALS = CONFIG.analyses.intervals
INTERVALS_HALVES = INTERVALS.halves
INTERVALS_FOLDER = f"{RESULTS}/intervals"
INTERVALS_STATED = f"{INTERVALS_FOLDER}/stated/{{model}}.parquet"
INTERVALS_INTEGERS = f"{INTERVALS_FOLDER}/integers/{{model}}.parquet"
INTERVALS_BELIEFS = f"{INTERVALS_FOLDER}/beliefs.parquet"
INTERVALS_ADJUSTED = f"{INTERVALS_FOLDER}/adjusted.parquet"
INTERVALS_SCORES = f"{INTERVALS_FOLDER}/scores.parquet"
INTERVALS_DIFFERENCES = f"{INTERVALS_FOLDER}/differences.parquet"
INTERVALS_SETS = f"{INTERVALS_FOLDER}/sets.parquet"
INTERVALS_TUNNEL = f"{INTERVALS_FOLDER}/tunnel_index.parquet"
# Variants by what they do: their levels, their temperatures, and the models that they are shown as.
INTERVALS_LEVELS = dict(INTERVALS.numbers_by_variant("stated"))
INTERVALS_TEMPERATURES = dict(INTERVALS.numbers_by_variant("integers"))
INTERVALS_MODELS = {variant: name for name, asked in INTERVALS.models.items() for variant in asked.variants}
INTERVALS_READ = [asked.distribution for asked in INTERVALS.models.values() if asked.distribution]
INTERVALS_ASKED = [name for name in INTERVALS_READ if INTEGER_FAMILY in PASSES_OF]
INTERVALS_PASSES = expand(PASSES, family=INTEGER_FAMILY, model=INTERVALS_ASKED, benchmark=INTERVALS_HALVES)
INTERVALS_EXHIBITS = [f"{INTERVALS_FOLDER}/tables/table_{name}" for name in INTERVALS.tables]
# Tables that the paper has too: its values are written beside ours, whether the study has its models or not.
INTERVALS_PUBLISHED = [
    f"{INTERVALS_FOLDER}/tables/table_{name}_published.csv"
    for name in INTERVALS.tables
    if (INTERVALS_PAPER / f"table_{name}.csv").is_file()
]
INTERVALS_PICTURES = [f"{INTERVALS_FOLDER}/figures/figure_{name}" for name in INTERVALS.figures]
INTERVALS_RESAMPLES = {"resamples": INTERVALS.resamples, "seed": group_estimates.find_estimation_seed(CONFIG)}
INTERVALS_SHOWN = {
    "label": INTERVALS.label(CONFIG.study),
    # Those whose weights one can have: all but what is behind an API.
    "open_models": [
        name
        for name, asked in INTERVALS.models.items()
        if all(CONFIG.models[variant].kind != "api" for variant in asked.variants)
    ],
}
