"""The paths of a study's files: templates over the wildcards, relative to the working directory."""

# Other folders of a study; its judges cannot have these names.
STAGE_FOLDERS = (
    "benchmarks",
    "generations",
    "labels",
    "features",
    "passes",
    "signals",
    "observations",
    "estimates",
    "estimators",
    "scores",
    "revisions",
    "prefetch",
    "spending",
)


class StudyLayout:
    """The files of one study, as templates for `str.format` (and Snakemake) over `{model}`, `{benchmark}`,
    `{judge}`, `{group}`, `{family}` of signals, and `{name}` of a named group.
    """

    def __init__(self, study: str, results: str = "results/", logs: str = "logs/") -> None:
        """Place the files of a study below these folders, which end with a slash."""
        self.results = f"{results}{study}"
        self.logs = f"{logs}{study}"
        self.items = f"{self.results}/benchmarks/{{benchmark}}.parquet"
        self.generations = f"{self.results}/generations/{{model}}/{{benchmark}}.parquet"
        self.labels = f"{self.results}/labels/{{judge}}/{{model}}/{{benchmark}}.parquet"
        self.features = f"{self.results}/features/{{model}}/{{benchmark}}.parquet"
        self.passes = f"{self.results}/passes/{{family}}/{{model}}/{{benchmark}}.parquet"
        self.signals = f"{self.results}/signals/{{family}}/{{model}}/{{benchmark}}.parquet"
        self.observations = f"{self.results}/observations/{{judge}}/{{model}}.parquet"
        self.estimates = f"{self.results}/estimates/{{judge}}/{{model}}/{{group}}.parquet"
        self.estimator = f"{self.results}/estimators/{{judge}}/{{model}}/{{name}}/{{estimator}}.estimator"
        self.scores = f"{self.results}/scores/{{judge}}/{{model}}/{{name}}.parquet"
        self.spending = f"{self.results}/spending/{{server}}.sqlite"
        self.costs = f"{self.results}/{{judge}}/costs.csv"


def get_parts_folder(output: str) -> str:
    """The folder of a long job's partial results, beside its output."""
    return f"{output}.parts"
