"""What the tables and the figures of this analysis are made from."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, FigureInputs
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import ModelValidation
from entropy_sentinel.study.analyses.display_names import Groups


@dataclass(frozen=True, kw_only=True)
class AccuracyTableInputs(ExhibitInputs):
    """The settings of the tables, and frames of the contracts SWEEP, AUROC, DOMAINS, ESTIMATES and REPEATS.

    `headline_group` is the name in `groups` of the training group of Tables 3 and 8; `default` is an estimator's name.
    `main_groups` are the named groups of Table 2; Table 7 has the others. `basis_note` is a line that names what this
    study's values are based on.
    """

    groups: Groups
    headline_group: str
    main_groups: Sequence[str]
    default: str
    auroc_models: Sequence[str]
    auroc_benchmarks: Sequence[str]
    sweep: pl.DataFrame
    auroc: pl.DataFrame
    domains: pl.DataFrame
    estimates: pl.DataFrame
    repeats: pl.DataFrame
    validations: Sequence[ModelValidation]
    basis_note: str


@dataclass(frozen=True, kw_only=True)
class AccuracyFigureInputs(FigureInputs):
    """The settings of the figures, and frames of SWEEP, AUROC, DOMAINS, ESTIMATES and OBSERVATIONS.

    `estimates` are those of the training group that `headline_group` names, `observations` those of `figure_model`.
    """

    groups: Groups
    headline_group: str
    default: str
    figure_model: str
    figure_benchmark: str
    style: Style
    sweep: pl.DataFrame
    auroc: pl.DataFrame
    domains: pl.DataFrame
    estimates: pl.DataFrame
    observations: pl.DataFrame
    validations: Sequence[ModelValidation]
