"""Training groups: those of the study, under which names their files lie, and who reads their estimates."""

from collections.abc import Iterable
from itertools import combinations

from entropy_sentinel.config.sections import Config
from entropy_sentinel.estimators.catalogue import CONFIGURATION_NAMES, in_order
from entropy_sentinel.estimators.settings import OWN, Group, group_file, group_id
from entropy_sentinel.frames.analysis import Reads


def training_groups(config: Config) -> dict[str, tuple[str, ...]]:
    """Every training group of the study, by id, with the estimators to run for it, in a fixed order.

    A group that several settings ask for gets the union of what they ask.
    """
    wanted: dict[str, set[str]] = {}
    everything = set(CONFIGURATION_NAMES)
    for name in config.run.groups:
        group = config.groups[name]
        estimators = everything if group.configurations == "all" else {group.estimator, config.estimation.default}
        wanted.setdefault(group.group_id, set()).update(estimators)
    for sweep in config.run.sizes:
        estimators = everything if sweep.configurations == "all" else {config.estimation.default}
        for benchmarks in combinations(sorted(config.labelled), sweep.number(len(config.labelled))):
            wanted.setdefault(group_id(benchmarks), set()).update(estimators)
    return {group: in_order([*estimators, *config.estimation.estimators]) for group, estimators in wanted.items()}


def kept_estimators(config: Config, names: Iterable[str] | None = None) -> dict[str, tuple[str, ...]]:
    """The estimators of each named group that are kept as files, in the order of `estimation.keep` or of `names`."""
    wanted = list(config.estimation.keep if names is None else names)
    return {
        name: tuple(config.groups[name].estimator if one == OWN else one for one in wanted)
        for name in config.run.groups
    }


def group_files(config: Config) -> dict[str, str]:
    """The ids of all training groups by the name of their files, the `{group}` wildcard."""
    return {group_file(group): group for group in training_groups(config)}


def groups_of_judge(config: Config, judge: str) -> list[str]:
    """The files' names of the training groups that are estimated under a judge's labels.

    All where an analysis of the judge's labels reads all; else those that one shows, if any does.
    """
    read = {section.READS for section in config.shown.values() if section.is_of(judge)}
    if Reads.ALL in read:
        return list(group_files(config))
    return [group_file(group.group_id) for group in shown_groups(config).values()] if Reads.SHOWN in read else []


def first_group(config: Config) -> str | None:
    """The id of the first training group: of the first named one, or the first of the first size; None without any."""
    return next(iter(training_groups(config)), None)


def shown_groups(config: Config) -> dict[str, Group]:
    """The named training groups; where none is run, the first training group under its id, or nothing."""
    group = first_group(config)
    if config.run.groups or group is None:
        return {name: config.groups[name] for name in config.run.groups}
    return {group: Group(benchmarks=group.split("+"), estimator=config.estimation.default)}
