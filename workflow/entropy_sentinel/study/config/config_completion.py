"""A configuration completed for the models and benchmarks that it runs.

Open settings are filled in. Parts that need other models or benchmarks are left out, with a line about each. Unknown
names are errors (`Config`).
"""

import math

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.estimators.estimator_registry import ESTIMATORS
from entropy_sentinel.estimators.estimator_settings import OWN
from entropy_sentinel.study.config.group_estimates import find_report_groups
from entropy_sentinel.study.config.run_section import SweepSize
from entropy_sentinel.study.config.study_config import Config

# Snakemake can plan this many within minutes; each makes a job per model.
MAX_GROUPS = 20_000


def complete_config(config: Config) -> Config:
    """The configuration with the groups, sizes and analyses that can be run; a second call changes nothing.

    Raises ValueError if nothing is left to train on, and for unknown names in the sections of the analyses.
    """
    groups, lines = _select_groups(config)
    sizes, more_lines = _select_sizes(config)
    lines += more_lines
    _check_training(config, has_groups=bool(groups or sizes), lines=lines)
    run = config.run.model_copy(update={"groups": groups, "sizes": sizes})
    config = config.model_copy(update={"run": run})
    # Analyses depend on the groups that are left.
    analyses, more_lines = _select_analyses(config, _collect_names(config))
    lines += more_lines
    run = run.model_copy(update={"analyses": list(analyses)})
    sections = config.analyses.model_copy(update=analyses)
    config = config.model_copy(update={"run": run, "analyses": sections})
    config._left_out = [*lines, *_describe_unaskable(config)]
    return config


def _check_training(config: Config, has_groups: bool, lines: list[str]) -> None:
    """Raise ValueError if an analysis reads estimates, and none can be made.

    `has_groups` says whether any training group is left; `lines`, about those left out, are for the error.
    """
    # READS of an analysis says which estimates it reads; None if none.
    reader_names = ", ".join(name for name, section in config.enabled_analyses.items() if section.READS)
    if not reader_names:
        return  # no analysis needs estimates
    if not has_groups:
        must = "name a group of `groups` in run.groups, or a size in run.sizes"
        problem = f"run: nothing to train on, which run.analyses needs ({reader_names}): {must}"
        raise ValueError("; ".join([problem, *lines]))
    for name in config.run.models:
        no_logprobs_setting = config.models[name].no_logprobs
        if no_logprobs_setting:
            raise ValueError(
                f"models.{name}.{no_logprobs_setting}: without log-probabilities nothing can be trained or estimated, "
                f"which run.analyses needs ({reader_names}): leave the model out of run.models, or run only analyses "
                "that need no estimates, as in run.analyses: [responses]"
            )


def _collect_names(config: Config) -> StudyNames:
    """The names that the sections of analyses may use: those that are run, and all of the config."""
    run = config.run
    return StudyNames(
        models=run.models,
        benchmarks=run.benchmarks,
        judges=run.judges,
        labelled=config.labelled_benchmarks,
        answered=[name for name in run.benchmarks if config.benchmarks[name].answers],
        compared=[name for name in run.benchmarks if config.benchmarks[name].judge is None],
        groups=run.groups or list(find_report_groups(config)),
        kept=config.estimation.keep,
        estimated=[config.estimation.default, *config.estimation.estimators],
        families=run.features,
        samples=min(map(config.count_samples, run.models)),
        names_by_axis={
            "models": config.models,
            "benchmarks": config.benchmarks,
            "labelled": config.benchmarks,
            "answered": config.benchmarks,
            "judges": config.judges,
            "groups": config.groups,
            "kept": [OWN, *ESTIMATORS],
            "estimated": ESTIMATORS,
        },
    )


def _select_analyses(config: Config, names: StudyNames) -> tuple[dict[str, Analysis], list[str]]:
    """The sections of the possible analyses by name, filled in from what is run, and a line for each part left out."""
    analyses: dict[str, Analysis] = {}
    lines = []
    for name in config.run.analyses:
        section: Analysis = getattr(config.analyses, name)
        obstacle = section.obstacle(names)
        if obstacle:
            lines.append(f"run.analyses: {name} left out because {obstacle}")
        else:
            analyses[name], more_lines = section.fitted(names)
            lines += more_lines
    if not analyses:
        raise ValueError(f"run.analyses: no analysis is possible: {'; '.join(lines)}")
    return analyses, lines


def _describe_unaskable(config: Config) -> list[str]:
    """A line for each reason why signals are null, with the families of signals and the models that it applies to.

    These families ask a model again about its responses, which is not possible for each model.
    """
    models_by_families_and_reason: dict[tuple[str, str], list[str]] = {}
    for model in config.run.models:
        families_by_reason: dict[str, list[str]] = {}
        for family in config.run.asking_families:
            reason = config.explain_unaskable(family, model)
            if reason is not None:
                families_by_reason.setdefault(reason, []).append(family)
        for reason, families in families_by_reason.items():
            models_by_families_and_reason.setdefault((", ".join(families), reason), []).append(model)
    lines = []
    for (names, reason), models in models_by_families_and_reason.items():
        lines.append(f"run.features: signals of {names} are null for {', '.join(models)}, since {reason}")
    return lines


def _select_groups(config: Config) -> tuple[list[str], list[str]]:
    """The named groups whose benchmarks are all run, and a line for each other group."""
    groups, lines = [], []
    for name in config.run.groups:
        absent = [benchmark for benchmark in config.groups[name].benchmarks if benchmark not in config.run.benchmarks]
        if absent:
            lines.append(f"run.groups: {name} left out because not in run.benchmarks: {', '.join(absent)}")
        else:
            groups.append(name)
    return groups, lines


def _select_sizes(config: Config) -> tuple[list[SweepSize], list[str]]:
    """The distinct sizes of run.sizes, as numbers, that leave a benchmark unseen, and a line for each other size.

    Of equal sizes, such as 3 and all-but-one of 4, one with all configurations takes precedence.
    """
    n_labelled = len(config.labelled_benchmarks)
    n_benchmarks = len(config.run.benchmarks)
    sizes: dict[int, SweepSize] = {}
    lines = []
    for sweep in config.run.sizes:
        size = sweep.number(n_labelled)
        if size < 1 or size > n_labelled:
            lines.append(f"run.sizes: {sweep.size} left out because {n_labelled} of run.benchmarks have references")
        elif size >= n_benchmarks:
            lines.append(f"run.sizes: {sweep.size} left out because it leaves none of {n_benchmarks} benchmarks unseen")
        elif (n_groups := math.comb(n_labelled, size)) > MAX_GROUPS:
            raise ValueError(
                f"run.sizes: {sweep.size} of {n_labelled} benchmarks makes {n_groups:,} training groups; at most "
                f"{MAX_GROUPS:,}, choose another size"
            )
        elif size not in sizes or sweep.configurations == "all":
            sizes[size] = sweep.model_copy(update={"size": size})
    return list(sizes.values()), lines
