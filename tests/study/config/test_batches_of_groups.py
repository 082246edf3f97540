"""Training groups of one job: which, and that no result depends on it."""

import pytest
from studies import study

from entropy_sentinel.study.config.group_estimates import (
    estimate_batches,
    estimation_settings,
    estimator_batches,
    map_group_files,
)
from entropy_sentinel.study.config.study_config import Config


def paper(groups_per_job: int) -> Config:
    return study({"estimation.groups_per_job": groups_per_job})


def test_one_group_per_job_gives_a_rule_with_a_wildcard() -> None:
    assert estimate_batches(paper(1)) == {"estimate": ["{group}"]}
    assert estimator_batches(paper(1)) == {"estimator": ["{name}"]}


@pytest.mark.parametrize("size", [2, 20, 1000])
def test_every_group_is_in_one_batch_and_named_groups_have_their_own(size: int) -> None:
    config = paper(size)
    batches = list(estimate_batches(config).values())
    assert sorted(name for batch in batches for name in batch) == sorted(map_group_files(config))
    assert max(map(len, batches)) == min(size, 391)
    # 4 named groups; 385 of one to four benchmarks and 10 that leave one out are 395, the named ones among them.
    assert len(batches) == -(-4 // size) + -(-391 // size)
    assert sorted(batches[0]) == sorted(
        ["gsm8k+olympiadbench", "math+scibench", "gsm-symbolic+matscibench", "gpqa+gsm8k+matscibench"][
            : len(batches[0])
        ]
    )
    kept = estimator_batches(config)
    assert [name for batch in kept.values() for name in batch] == config.run.groups


def test_the_batch_size_is_not_a_setting_of_the_estimates() -> None:
    assert estimation_settings(paper(20), ["atc-max"]) == estimation_settings(paper(1), ["atc-max"])
    assert "groups_per_job" not in estimation_settings(paper(20), [])
