"""Settings of the analysis: the config's section `analyses.entropy_area`."""

from typing import Annotated, Literal, Self

from pydantic import Field

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.core.section_base import DISTINCT, Name, Names, Number, Whole
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from papers.entropy_area import area_exhibits

NEEDS = "forced_answer"


class EntropyArea(Analysis):
    """What the entropy area score tells about the variety of repeated answers (Zhu et al., 2025).

    It needs forced_answer in run.features and several samples of each item (generation.samples).
    """

    PAGE = "{judge}/entropy_area/report.html"
    TELLS = "what the entropy area score says"
    TABLES, FIGURES = list_titles(area_exhibits.TABLES), list_titles(area_exhibits.FIGURES)

    judges: Names | None = Field(None, description="judges whose labels get all this; null for all that are run")
    together: dict[Name, Annotated[list[Name], Field(min_length=2), DISTINCT]] = Field(
        {}, description="benchmarks that are combined under a name: {aime: [aime-2024, aime-2025]}"
    )
    answer: Literal["reference", "own", "none"] | None = Field(
        None,
        description="the answer of signals.forced_answer.answers whose score the figures and the table of items show; "
        "null for the paper's (reference), or else the first",
    )
    alpha: Number = Field(
        0.5, ge=0, le=1e6, description="how fast the weight of earlier tokens decays in Figure 3; 0 is a plain sum"
    )
    figure_model: str | None = Field(None, description="model of Figure 1; null for the first")
    figure_benchmark: str | None = Field(
        None, description="benchmark of Figures 1 and 3; null for the first with options, or else the first"
    )
    resamples: Whole = Field(10_000, ge=10, le=100_000, description="bootstrap samples of the items per interval")

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible (`Analysis.obstacle`)."""
        if NEEDS not in studied.families:
            return f"run.features has no {NEEDS}, which asks the model again"
        return None if studied.labelled else "no benchmark has references, and without them judges read no answers"

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        axis_by_field = {"judges": "judges", "figure_model": "models", "figure_benchmark": "labelled"}
        names_by_field, lines = self.select_names(studied, axis_by_field)
        together = {}
        for name, benchmarks in self.together.items():
            run_benchmarks, left_out = studied.select_run(
                "labelled", f"analyses.entropy_area.together.{name}", benchmarks
            )
            if run_benchmarks:
                together[name] = run_benchmarks
            lines += left_out
        self._check_each_once(studied)
        chosen = {
            "judges": names_by_field["judges"] or studied.judges,
            "together": together,
            # A field with one name has a list of at most one here.
            "figure_model": (names_by_field["figure_model"] or studied.models)[0],
            "figure_benchmark": next(iter(names_by_field["figure_benchmark"]), None),
            **self.exhibits(),
        }
        return self.model_copy(update=chosen), lines

    def _check_each_once(self, studied: StudyNames) -> None:
        """Raise ValueError if a combined set has a benchmark's name, or a benchmark is in two sets of `together`."""
        set_by_benchmark: dict[str, str] = {}
        for name, benchmarks in self.together.items():
            if name in studied.benchmarks:
                raise ValueError(f"analyses.entropy_area.together.{name}: a benchmark has this name; choose another")
            for benchmark in benchmarks:
                if benchmark in set_by_benchmark:
                    first_name = set_by_benchmark[benchmark]
                    raise ValueError(
                        f"analyses.entropy_area.together.{name}: '{benchmark}' is in {first_name}, too; keep one"
                    )
                set_by_benchmark[benchmark] = name

    def sets(self, labelled: list[str]) -> dict[str, list[str]]:
        """The benchmarks that are shown as one, by the set's name, in the order of the first of each.

        `labelled` are the benchmarks with references; one that is not in `together` is a set of its own name.
        """
        set_by_benchmark = {benchmark: benchmark for benchmark in labelled}
        for name, benchmarks in self.together.items():
            set_by_benchmark |= dict.fromkeys(benchmarks, name)
        sets: dict[str, list[str]] = {}
        for benchmark in labelled:
            sets.setdefault(set_by_benchmark[benchmark], []).append(benchmark)
        return sets

    def choose_answer(self, answers: list[str]) -> str:
        """The inserted answer whose score exhibits with only one show; by default the reference, as in the paper.

        `answers` are those that signals.forced_answer inserts; raises ValueError if the setting is not among them.
        """
        if self.answer and self.answer not in answers:
            raise ValueError(
                f"analyses.entropy_area.answer: '{self.answer}' is not in signals.forced_answer.answers, which has "
                f"{', '.join(answers)}"
            )
        return self.answer or ("reference" if "reference" in answers else answers[0])
