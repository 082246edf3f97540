import pytest

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.estimators.estimator_registry import BASELINES, CONFIGURATIONS, Configuration, parse_configuration
from entropy_sentinel.features.feature_registry import FEATURES


def test_name_of_the_papers_default():
    default = Configuration("forest", "10d", balanced=True, isotonic=True)
    assert default.name == "forest-10d-balanced-isotonic"
    assert Configuration("mlp", "1d", balanced=False, isotonic=False).name == "mlp-1d-unbalanced-uncalibrated"


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda configuration: configuration.name)
def test_parse_reads_every_name(configuration):
    assert parse_configuration(configuration.name) == configuration
    assert len(CONFIGURATIONS) == 3 * 4 * 2 * 2


@pytest.mark.parametrize("name", ["forest-10d", "baseline-ppl", "tree-10d-balanced-isotonic", ""])
def test_parse_refuses_other_names(name):
    with pytest.raises(
        ConfigError, match=f"configuration '{name}' is unknown.*logistic, forest, mlp; 17d, 10d, 3d, 1d"
    ):
        parse_configuration(name)


def test_baselines_are_features():
    assert {name.removeprefix("baseline-") for name in BASELINES} < set(FEATURES)
