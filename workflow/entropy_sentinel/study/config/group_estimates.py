"""Training groups and their estimates: which groups exist, their jobs and files, and the settings they depend on."""

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from entropy_sentinel.core.analysis import Reads
from entropy_sentinel.estimators.estimator_registry import CONFIGURATION_NAMES, sort_estimators
from entropy_sentinel.estimators.estimator_settings import OWN, EstimationSettings, Group, group_file, group_id
from entropy_sentinel.features.feature_settings import SplitSettings
from entropy_sentinel.study.config.study_config import Config


def find_estimation_seed(config: Config) -> int:
    """The seed of all random numbers in estimation: split, folds, forests, MLPs."""
    return config.seed if config.estimation.seed is None else config.estimation.seed


def split_settings(config: Config) -> SplitSettings:
    """The settings that the split of a benchmark's items depends on."""
    return {"test_share": config.estimation.test_share, "seed": find_estimation_seed(config)}


def estimation_settings(config: Config, estimators: Iterable[str]) -> EstimationSettings:
    """The settings that the estimates of a training group depend on, besides the observations."""
    estimation = config.estimation
    return {
        "estimators": list(estimators),
        "seed": find_estimation_seed(config),
        "folds": estimation.folds,
        "trees": estimation.trees,
        "max_depth": estimation.max_depth,
        "min_samples_split": estimation.min_samples_split,
        "hidden_layers": estimation.hidden_layers,
    }


def training_groups(config: Config) -> dict[str, tuple[str, ...]]:
    """The names of the estimators of every training group of the study, in a fixed order, by the group's id.

    A group that several settings name gets the estimators of all of them.
    """
    estimators_by_group: dict[str, set[str]] = {}
    all_estimators = set(CONFIGURATION_NAMES)
    for name in config.run.groups:
        group = config.groups[name]
        estimators = all_estimators if group.configurations == "all" else {group.estimator, config.estimation.default}
        estimators_by_group.setdefault(group.group_id, set()).update(estimators)
    for sweep in config.run.sizes:
        estimators = all_estimators if sweep.configurations == "all" else {config.estimation.default}
        size = sweep.number(len(config.labelled_benchmarks))
        for benchmarks in combinations(sorted(config.labelled_benchmarks), size):
            estimators_by_group.setdefault(group_id(benchmarks), set()).update(estimators)
    return {
        group: sort_estimators([*estimators, *config.estimation.estimators])
        for group, estimators in estimators_by_group.items()
    }


def list_kept_estimators(config: Config, names: Iterable[str] | None = None) -> dict[str, tuple[str, ...]]:
    """The estimators to keep as files, by named group, in the order of `names` (default: `estimation.keep`).

    The name OWN stands for the estimator that the config sets for the group.
    """
    names = list(config.estimation.keep if names is None else names)
    kept = {}
    for group in config.run.groups:
        group_estimator = config.groups[group].estimator
        # OWN is a different estimator in each group.
        kept[group] = tuple(group_estimator if name == OWN else name for name in names)
    return kept


def map_group_files(config: Config) -> dict[str, str]:
    """The ids of all training groups by the stems of their files, which are the values of the wildcard `{group}`."""
    return {group_file(group): group for group in training_groups(config)}


def list_judge_groups(config: Config, judge: str) -> list[str]:
    """The file names of the training groups that are estimated with a judge's labels.

    All groups if an analysis of these labels reads all; else those of `find_report_groups`, if an analysis reads these;
    else none.
    """
    read = {section.READS for section in config.enabled_analyses.values() if section.uses_judge(judge)}
    if Reads.ALL in read:
        return list(map_group_files(config))
    if Reads.SHOWN in read:
        return [group_file(group.group_id) for group in find_report_groups(config).values()]
    return []


def find_first_group(config: Config) -> str | None:
    """The id of the first named training group, or else of the first one of the first size; None without one."""
    return next(iter(training_groups(config)), None)


def find_report_groups(config: Config) -> dict[str, Group]:
    """The training groups that pages show, by name: the named ones, or else the first one of run.sizes by its id.

    Empty if there is no training group.
    """
    group = find_first_group(config)
    if config.run.groups or group is None:
        return {name: config.groups[name] for name in config.run.groups}
    return {group: Group(benchmarks=group.split("+"), estimator=config.estimation.default)}


def link_pages(config: Config, judge: str, but: str) -> dict[str, dict[str, str]]:
    """Links from the page of the analysis `but` to the pages of the other analyses of a judge's labels.

    For each text of a link, the relative addresses by model; by "" for an analysis with a single page.
    """
    folder = Path(getattr(config.analyses, but).PAGE).parent
    links = {}
    for name, section in config.enabled_analyses.items():
        if name != but and section.PAGE and section.uses_judge(judge):
            template = os.path.relpath(section.PAGE, folder)
            models = config.run.models if "{model}" in section.PAGE else [""]
            links[section.TELLS] = {model: template.format(judge=judge, model=model) for model in models}
    return links


def estimate_batches(config: Config) -> dict[str, list[str]]:
    """The file names of the training groups that each job estimates, by the name of its rule.

    No job has both named and other groups. If each group has its own job, there is one rule, with the wildcard
    `{group}` instead.
    """
    named_groups = list(dict.fromkeys(group_file(config.groups[name].group_id) for name in config.run.groups))
    unnamed_groups = [file for file in map_group_files(config) if file not in named_groups]
    return _split_batches(config, "estimate", "{group}", named_groups, unnamed_groups)


def estimator_batches(config: Config) -> dict[str, list[str]]:
    """The named groups whose estimators each job keeps, by the name of its rule.

    If each group has its own job, there is one rule, with the wildcard `{name}` instead.
    """
    return _split_batches(config, "estimator", "{name}", config.run.groups)


def _split_batches(config: Config, rule: str, wildcard: str, *parts: list[str]) -> dict[str, list[str]]:
    """The groups of each job by its rule: `{"rule_0": [...], "rule_1": [...]}`, which never mix the `parts`.

    Each has at most `estimation.groups_per_job` groups. If that is 1, one rule serves all: `{"rule": [wildcard]}`.
    """
    size = config.estimation.groups_per_job
    if size == 1:
        return {rule: [wildcard]}
    batches: dict[str, list[str]] = {}
    for part in parts:
        for start in range(0, len(part), size):
            batches[f"{rule}_{len(batches)}"] = part[start : start + size]
    return batches
