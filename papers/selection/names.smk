# What the analysis `selection` calls its files: constants for rules.smk.

from papers.selection import selection_exhibits as selection_catalogue
from papers.selection.selection_settings import FORCED_ANSWER

SELECTION = CONFIG.analyses.selection
SELECTION_FOLDER = f"{RESULTS}/{{judge}}/selection"
SELECTION_CANDIDATES = f"{SELECTION_FOLDER}/candidates/{{model}}.parquet"
SELECTION_FILES = f"{SELECTION_FOLDER}/selections/{{model}}.parquet"
SELECTION_TRAINING = {name: f"{SELECTION_FOLDER}/{{model}}/{name}.jsonl" for name in SELECTION.strategies}
SELECTION_EXHIBITS = [
    *expand(
        f"{SELECTION_FOLDER}/tables/table_{{name}}.{{kind}}", name=SELECTION.tables, kind=TABLE_KINDS, judge="{judge}"
    ),
    *expand(
        f"{SELECTION_FOLDER}/figures/figure_{{name}}.{{kind}}",
        name=SELECTION.figures,
        kind=FIGURE_KINDS,
        judge="{judge}",
    ),
]
