"""Settings of the analysis: the config's section `analyses.ambiguity`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.core.section_base import DISTINCT, Name, Names, Number, Text
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from papers.ambiguity import ambiguity_exhibits

NEEDS = ambiguity_exhibits.ESTIMATORS["se"].family

_Above1 = Annotated[Number, Field(gt=1, le=1e6)]
_Gamma = Annotated[Number, Field(gt=0, le=1e9)]


class Ambiguity(Analysis):
    """Whether entropy finds what a model does not know, for questions with one answer and with several.

    After Tomov et al. (2025). It needs benchmarks with `answers`, semantics in run.features and several samples of each
    item (generation.samples); beam_search, sar and iterative_prompting in run.features add their estimators.
    """

    PAGE = "ambiguity/report.html"
    TELLS = "whether entropy finds what the model does not know"
    READS_LABELS = False
    TABLES, FIGURES = list_titles(ambiguity_exhibits.TABLES), list_titles(ambiguity_exhibits.FIGURES)

    benchmarks: Names | None = Field(None, description="benchmarks with answers to compare; null for all that are run")
    source: Name = Field("benchmark", description="name of the benchmarks' own counts as a source of p*")
    sources: dict[Name, dict[Name, Text]] = Field(
        {},
        description="further counts for the same questions, by source name and by benchmark: a file of rows "
        "with columns question, answers and counts (.jsonl, .csv or .parquet)",
    )
    epsilon: Number = Field(0.01, gt=0, lt=1, description="probability of an answer that no sample gave")
    thresholds: Annotated[list[_Above1], Field(min_length=1), DISTINCT] = Field(
        [1.5, 2, 3],
        description="a question counts as uncertain if its epistemic uncertainty is at least the logarithm of this",
    )
    gammas: Annotated[list[_Gamma], DISTINCT] = Field(
        [1, 2, 5, 10, 100], description="weights gamma of the counts in the posteriors of p*, Dir(1 + gamma count)"
    )

    @model_validator(mode="after")
    def _sources_differ(self) -> "Ambiguity":
        """Refuse a further source of counts with the name of the benchmarks' own."""
        if self.source in self.sources:
            raise ValueError(f"sources: '{self.source}' is the name of the benchmarks' own counts; choose another")
        return self

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible (`Analysis.obstacle`)."""
        if NEEDS not in studied.families:
            return f"run.features has no {NEEDS}, which groups the answers"
        if studied.samples < 2:
            return "it needs several responses to each item; set generation.samples, 30 in the paper"
        return None if studied.answered else "no benchmark that is run has `answers`"

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        run_names, lines = self.select_names(studied, {"benchmarks": "answered"})
        sources = {}
        for name, files in self.sources.items():
            run_files, left_out = studied.select_run("answered", f"analyses.ambiguity.sources.{name}", files)
            lines += left_out
            if run_files:
                sources[name] = {benchmark: files[benchmark] for benchmark in run_files}
        chosen = {
            "benchmarks": run_names["benchmarks"] or studied.answered,
            "sources": sources,
            **self.exhibits(),
        }
        return self.model_copy(update=chosen), lines
