"""What a configuration asks for: its training groups and the settings that each stage's results depend on.

A job carries its stage's settings as one dict, so that Snakemake reruns it when one of them changes, and only then.
"""

from entropy_sentinel.config.study.benchmarks import benchmark_settings, item_limit
from entropy_sentinel.config.study.comparing import comparing_families, comparing_settings
from entropy_sentinel.config.study.estimates import estimation_seed, estimation_settings, split_settings
from entropy_sentinel.config.study.generations import (
    engines,
    feature_settings,
    generation_settings,
    gpus,
    prompt_settings,
    source_file,
)
from entropy_sentinel.config.study.groups import (
    first_group,
    group_files,
    groups_of_judge,
    kept_estimators,
    shown_groups,
    training_groups,
)
from entropy_sentinel.config.study.judging import (
    hub_models,
    judge_settings,
    labels_files,
    own_judges,
    paid_judges,
    served_judges,
)
from entropy_sentinel.config.study.links import pages
from entropy_sentinel.config.study.passes import family_settings, given_pass, pass_gpus, pass_settings
from entropy_sentinel.config.study.servers import ledger, server_settings
from entropy_sentinel.estimators.settings import group_file

__all__ = [
    "benchmark_settings",
    "comparing_families",
    "comparing_settings",
    "engines",
    "estimation_seed",
    "estimation_settings",
    "family_settings",
    "feature_settings",
    "first_group",
    "generation_settings",
    "given_pass",
    "gpus",
    "group_file",
    "group_files",
    "groups_of_judge",
    "hub_models",
    "item_limit",
    "judge_settings",
    "kept_estimators",
    "labels_files",
    "ledger",
    "own_judges",
    "pages",
    "paid_judges",
    "pass_gpus",
    "pass_settings",
    "prompt_settings",
    "served_judges",
    "server_settings",
    "shown_groups",
    "source_file",
    "split_settings",
    "training_groups",
]
