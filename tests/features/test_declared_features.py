"""Features that an extension declares: a column after the built-in ones, estimators of it, and what is refused."""

import math
from pathlib import Path

import pytest
from extended import extension, printed, ran
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.features.feature_registry import CATALOGUE, FEATURE_FRAME, FEATURE_SETS, FEATURES

# Two of them have names of columns with which features are computed, one is a whole number.
LAST = """
def features():
    from entropy_sentinel.features.feature_declaration import CAPTURED, NLL, Feature, H, X

    return {
        "last": Feature("last", "Last H", "H(t) of the last token", "nats", H(X.last())),
        "nan": Feature("nan", "Spread", "largest minus smallest -l(t)", "nats", NLL(X.max() - X.min()), confident=True),
        "k": Feature("k", "First", "the first step's probability of the top k", "1", CAPTURED(X.first()), share=True),
        "n_high": Feature("n_high", "High", "number of tokens with H(t) above 0.1", "1", H((X > 0.1).sum())),
    }
"""
OWN = ("last", "nan", "k", "n_high")
COMPUTE = f"""
import json
import entropy_sentinel as es
from entropy_sentinel.estimators.estimator_registry import ESTIMATORS, signals_of
from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES

rows = es.read_features({str(TINY.log)!r})
print(json.dumps({{
    "rows": rows.select(FEATURES).rows(),
    "features": FEATURES,
    "columns": rows.columns == [*FEATURE_FRAME.schema, *rows.columns[len(FEATURE_FRAME.schema):]],
    "schema": FEATURE_FRAME.schema.names(),
    "estimators": {{name: signals_of(name) for name in ESTIMATORS}},
}}))
"""


def test_a_declared_feature_is_a_column_and_has_estimators(tmp_path: Path) -> None:
    found = printed(tmp_path, COMPUTE, extension(tmp_path / "mine", LAST))
    assert found["features"] == [*FEATURES, *OWN]
    assert found["columns"]
    names = FEATURE_FRAME.schema.names()
    place = names.index("ppl") + 1
    assert found["schema"] == [*names[:place], *OWN, *names[place:]]
    expected = [f"{kind}-{name}" for kind in ("baseline", "atc") for name in OWN]
    expected += [f"{kind}-{name}" for kind in ("log", "atc-log") for name in ("last", "k", "n_high")]
    expected += ["doc-k", *(f"doc-baseline-{name}" for name in OWN)]
    declared = {name: signals for name, signals in found["estimators"].items() if set(signals) & set(OWN)}
    assert sorted(declared) == sorted(expected)
    assert declared["atc-log-last"] == ["last"]
    traces = es.read_logs(TINY.log)
    for row, features, (sampled, top) in zip(
        found["rows"],
        es.features(traces).select(FEATURES).rows(),
        traces.select("token_logprobs", "top_logprobs").rows(),
        strict=True,
    ):
        assert tuple(row[:17]) == features
        entropies = [-sum(math.exp(log_p) * log_p for log_p in step) for step in top]
        first, high = sum(map(math.exp, top[0])), sum(entropy > 0.1 for entropy in entropies)
        assert row[17:] == pytest.approx([entropies[-1], max(sampled) - min(sampled), first, high], abs=1e-9)


def test_the_papers_feature_sets_are_of_its_features() -> None:
    assert tuple(CATALOGUE)[:17] == FEATURE_SETS["17d"]
    assert len(CATALOGUE) == 17


@pytest.mark.parametrize(
    ("features", "facts"),
    [
        ('{"reason": Feature("reason", "R", "r", "1", H(X.last()))}', ("'reason'", "another column")),
        ('{"label": Feature("label", "L", "l", "1", H(X.last()))}', ("'label'", "another column")),
        ('{"last": Feature("final", "L", "l", "1", H(X.last()))}', ("'last'", "'final'", "features()")),
        ('{"last": H(X.last())}', ("'last'", "entropy_sentinel.features.feature_declaration.Feature", "Expr")),
        ('{"Last H": Feature("Last H", "L", "l", "1", H(X.last()))}', ("'Last H'", "a_name")),
        ('{"max": Feature("max", "M", "m", "1", H(X.max()))}', ("'max'", "entropy_sentinel.features (", "mine")),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_module(features: str, facts: tuple[str, ...], tmp_path: Path) -> None:
    imported = "from entropy_sentinel.features.feature_declaration import Feature, H, X"
    init = f"def features():\n    {imported}\n\n    return {features}\n"
    mine = extension(tmp_path / "mine_wrong", init)
    error = ran(tmp_path, "import entropy_sentinel.features.feature_registry", mine).stderr.splitlines()[-1]
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: ")
    for fact in ("mine_wrong", *facts):
        assert fact in error
