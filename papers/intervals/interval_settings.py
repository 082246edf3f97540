"""Settings of the analysis: the config's section `analyses.intervals`."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.core.section_base import DISTINCT, Name, Number, Positive, Settings, Whole, check_names
from entropy_sentinel.features.feature_registry import EXTRAS, FEATURES
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from papers.intervals import interval_exhibits

# Percent; keys of YAML must be text: "99.8".
_Level = Annotated[float, Field(gt=0, lt=100)]
_Temperature = Annotated[float, Field(ge=0, le=10)]

# The family of signals that has a distribution over integers.
FAMILY = "integers"


class Asked(Settings):
    """The variants of one model: models of the config that ask the same weights in different ways."""

    stated: dict[_Level, Name] = Field(
        min_length=1,
        description='by level in percent, the variant that states such intervals: {"90": mine-90, "99": mine-99}. '
        "With several samples, the first is the stated interval, and all are the repeated queries of the tunnel",
    )
    integers: dict[_Temperature, Name] = Field(
        {}, description='by sampling temperature, the variant that answers with only an integer: {"1.0": mine-integer}'
    )
    distribution: Name | None = Field(
        None, description="the variant, among these, whose log-probabilities are read; null for none"
    )

    @model_validator(mode="after")
    def _check_each_once(self) -> "Asked":
        """Refuse a variant that occurs twice, and a `distribution` that is not of a variant in `integers`."""
        for name in self.variants:
            if self.variants.count(name) > 1:
                raise ValueError(f"'{name}' occurs twice: a variant is asked at one level, or one temperature")
        if self.distribution is not None:
            check_names("variant in distribution:", [self.distribution], self.integers.values())
        return self

    @property
    def variants(self) -> list[str]:
        """The models of the config that state intervals, then those that answer with an integer."""
        return [*self.stated.values(), *self.integers.values()]

    def select_variants(self, run_variants: list[str]) -> "Asked | None":
        """The setting with only the variants (models of the config) that are run; None if none states an interval."""
        stated = {level: variant for level, variant in self.stated.items() if variant in run_variants}
        integers = {temperature: variant for temperature, variant in self.integers.items() if variant in run_variants}
        section: dict[str, Any] = {"stated": stated, "integers": integers}
        if self.distribution in run_variants:
            section["distribution"] = self.distribution
        return Asked.model_validate(section) if stated else None


class Intervals(Analysis):
    """How reliable a model's stated intervals are, and how to reach their level (Epstein et al., FermiEval, 2025).

    Answers are powers of ten, as integers: the reference of both benchmarks. No judge and no training group is needed.
    """

    PAGE = "intervals/report.html"
    TELLS = "what intervals that a model states are worth"
    READS_LABELS = False
    TABLES, FIGURES = list_titles(interval_exhibits.TABLES), list_titles(interval_exhibits.FIGURES)

    calibration: Name | None = Field(None, description="benchmark whose questions adjust the intervals")
    test: Name | None = Field(None, description="benchmark on which they are evaluated")
    models: dict[Name, Asked] = Field({}, description="models by the name that is shown, and their variants")
    covariates: Annotated[list[str], DISTINCT] = Field(
        ["mean", "max", "nll_avg", "n_tokens"],
        description="features of the response, besides both ends, that the quantile regression uses",
    )
    farthest: Positive | None = Field(
        None,
        description="integers farther from 0 are not powers of ten: the model has stated the number itself. Each "
        "is not used, like an interval with such an end, and is counted apart from answers that cannot be read; "
        "null for any",
    )
    undercoverage: Number = Field(
        100,
        ge=0,
        le=1e9,
        description="lambda of the temperature search: the penalty on the squared shortfall of the coverage",
    )
    resamples: Whole = Field(10_000, ge=10, le=100_000, description="bootstrap samples of the questions")

    @model_validator(mode="after")
    def _check_consistency(self) -> "Intervals":
        """Check the names of covariates, that the halves are two benchmarks, and that no variant is of two models."""
        check_names("feature in covariates:", self.covariates, [*FEATURES, *EXTRAS, "n_tokens"])
        if self.calibration is not None and self.calibration == self.test:
            raise ValueError(f"calibration and test must be two benchmarks, got twice '{self.test}'")
        model_by_variant: dict[str, str] = {}
        for name, model in self.models.items():
            for variant in model.variants:
                first_name = model_by_variant.setdefault(variant, name)
                if first_name != name:
                    raise ValueError(f"models: '{variant}' belongs to both {first_name} and {name}; name it once")
        return self

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible (`Analysis.obstacle`)."""
        for key, benchmark in {"calibration": self.calibration, "test": self.test}.items():
            if benchmark not in studied.labelled:
                was = "is not set" if benchmark is None else f"is '{benchmark}', which is not run or has no references"
                return f"analyses.intervals.{key} {was}"
        if not any(model.select_variants(studied.models) for model in self.models.values()):
            return "analyses.intervals.models names no variant that is run and states an interval"
        return None

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        models, lines = {}, []
        for name, model in self.models.items():
            run_variants, left_out = studied.select_run("models", f"analyses.intervals.models.{name}", model.variants)
            lines += left_out
            if run_model := model.select_variants(run_variants):
                models[name] = run_model
        return self.model_copy(update={"models": models, **self.exhibits()}), lines

    @property
    def halves(self) -> list[str]:
        """The two benchmarks that are set, first the one for calibration."""
        return [name for name in (self.calibration, self.test) if name is not None]

    def numbers_by_variant(self, kind: str) -> Mapping[str, float]:
        """The level (`kind` is "stated") or temperature ("integers") of each variant of this kind, a config's model."""
        numbers = {}
        for model in self.models.values():
            for number, variant in getattr(model, kind).items():
                numbers[variant] = float(number)
        return numbers
