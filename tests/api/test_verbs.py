"""What a notebook calls, on the example that comes with the package and on frames made for the purpose."""

import gzip
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import traffic
from rows import rows
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.api.response_reading import write_features
from entropy_sentinel.core.errors import ConfigError, ContractError, InputError, ProvenanceError
from entropy_sentinel.estimators.training_rows import TrainingRows, fit_estimators


def frame(n: int = 60, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Features of two benchmarks, and labels."""
    benchmark, ids = pl.Series(["a", "b"] * (n // 2)), pl.format("item-{}", pl.int_range(pl.len()))
    features = traffic(n, seed).with_columns(benchmark=benchmark, item_id=ids).drop("route", "user", "time")
    return features, features.select("item_id", label=pl.Series(rows(n, seed)[1]))


def test_seed_0_is_accepted() -> None:
    assert es.fit(*frame(), "doc-mtp", {"seed": 0}).metadata.settings.seed == 0
    assert es.fit(*frame(), "doc-mtp").metadata.settings.seed == 42


def test_fit_and_estimate_agree_with_the_study() -> None:
    features, labels = frame()
    fitted = es.fit(features, labels, "forest-3d-balanced-isotonic", {"trees": 10, "seed": 7})
    settings = asdict(fitted.metadata.settings)
    assert (settings["seed"], settings["trees"], settings["folds"]) == (7, 10, 5)
    same = fit_estimators(TrainingRows(features, labels["label"].to_numpy(), settings), ["forest-3d-balanced-isotonic"])
    others, their_labels = frame(40, seed=5)
    result = es.estimate(fitted, others, by=["benchmark"], labels=their_labels).sort("benchmark")
    p = same["forest-3d-balanced-isotonic"].p_correct(others)
    first = np.array([True, False] * 20)
    assert result["estimated_accuracy"].to_list() == pytest.approx([p[first].mean(), p[~first].mean()], abs=1e-12)
    true = their_labels["label"].to_numpy()
    assert result["true_accuracy"].to_list() == pytest.approx([true[first].mean(), true[~first].mean()])
    assert np.allclose(result["error"], result["estimated_on_labelled"] - result["true_accuracy"])


def test_labels_of_a_part_and_rows_without_features() -> None:
    features, labels = frame()
    fitted = es.fit(features, labels, "atc-se_sum")
    features = features.with_columns(
        reason=pl.when(pl.col("item_id") == "item-0").then(pl.lit("empty response")),
        se_sum=pl.when(pl.col("item_id") != "item-0").then("se_sum"),
    )
    result = es.estimate(fitted, features, by=["benchmark"], labels=labels.head(5)).sort("benchmark").row(0, named=True)
    # Of benchmark a (the even items) 0, 2 and 4 have a label; 0 has no features.
    assert (result["n_estimated"], result["n_excluded"], result["n_labelled"]) == (29, 1, 2)
    right = labels["label"].to_list()
    assert result["true_accuracy"] == (right[2] + right[4]) / 2


def test_features_of_another_k_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """And then they are refitted or cut: `k` is a parameter of the entropy."""
    labels = es.read_labels(TINY.labels)
    with pytest.raises(ProvenanceError, match=r"top_k_returned 20 .*top_k=5\) "):
        es.estimate(es.fit(es.read_features(TINY.traces), labels), es.read_features(TINY.log))
    fitted = es.fit(es.read_features(TINY.traces, top_k=5), labels, "atc-se_sum")
    assert fitted.metadata.logprobs.top_k_returned == 5
    result = es.estimate(fitted, es.read_features(TINY.log), by=["metadata.route"])
    assert result["n_estimated"].to_list() == [3, 3, 3, 3]
    with pytest.raises(ProvenanceError, match=r"top_k_returned 20, not 5: .*top_k=5 "):
        es.estimate(fitted, es.read_features(TINY.traces))


def test_features_of_several_k_go_to_a_file_each(tmp_path: Path) -> None:
    both = es.read_features([TINY.log, TINY.traces])
    assert both.group_by("top_k_returned").len().sort("top_k_returned").rows() == [(5, 12), (20, 160)]
    with pytest.raises(InputError, match=r"12 responses with 5 .*\(raw_logprobs\); 160 .*\(--top-k 5\)"):
        write_features(both, tmp_path / "f.parquet")
    assert not list(tmp_path.iterdir())
    # A response without features is in the file of its kind, or in the first if it has none.
    gap = pl.int_range(pl.len()) == 100
    both = both.with_columns(
        reason=pl.when(pl.int_range(pl.len()).is_in([100, 101])).then(pl.lit("empty response")),
        top_k_returned=pl.when(~gap).then("top_k_returned"),
    )
    files = write_features(both, tmp_path / "f.parquet", split=True)
    assert [file.name for file in files] == ["f-top5.parquet", "f-top20.parquet"]
    assert [len(es.read_features(file)) for file in files] == [13, 159]
    again = es.read_features(files[0])
    assert again["top_k_returned"].unique().to_list() == [5]
    assert again["metadata.route"].drop_nulls().n_unique() == 4
    assert es.read_features(files[1])["benchmark"].n_unique() == 4
    with pytest.raises(InputError, match="f-top5.parquet: .*features"):
        es.read_features(files[0], top_k=3)
    with pytest.raises(InputError, match="top_k: .*20.*30"):
        es.read_features(TINY.traces, top_k=30)


def test_rows_without_features_belong_to_any_logprobs(tmp_path: Path) -> None:
    features, labels = frame()
    fitted = es.fit(features, labels)
    gap = pl.col("item_id") == "item-0"
    features = features.with_columns(
        reason=pl.when(gap).then(pl.lit("no log-probabilities in the log")),
        top_k_returned=pl.when(~gap).then("top_k_returned"),
    )
    assert es.estimate(fitted, features, by=["benchmark"]).sort("benchmark")["n_excluded"].to_list() == [1, 0]
    (file,) = write_features(features, tmp_path / "f.parquet")
    assert len(es.read_features(file)) == 60


def test_logs_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    with pytest.raises(InputError, match=r".*a.jsonl: line 1: "):
        es.read_logs(path)
    path.write_text(TINY.log.read_text().splitlines()[0] + "\nbroken\n")
    assert len(es.read_features(tmp_path)) == 1
    assert f"1 records could not be read: {path}: line 2: " in caplog.text
    with pytest.raises(InputError, match="a.jsonl: line 2"):
        es.read_logs(path, strict=True)


def test_a_problem_of_several_records_is_told_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"x": 1}\n{"x": 2}\n{"y": 3}\n')
    with pytest.raises(InputError) as refused:
        es.read_features(tmp_path)
    message = str(refused.value)
    places = ", ".join(f"{tmp_path}/{place}" for place in ("a.jsonl: line 1", "a.jsonl: line 2", "b.jsonl: line 1"))
    assert f"{places}, {tmp_path}/b.jsonl: line 2: has no known format; fields: x. " in message
    assert message.count("fields: x") == message.count("fields: y") == 1
    assert message.endswith("; ... and 1 more")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (pl.DataFrame({"item_id": ["z"], "label": [True]}), "no response has features and a label"),
        (
            pl.DataFrame({"item_id": ["item-0"] * 2, "label": [True, False]}),
            r"'item-0' has different labels in rows 1 \(true\), 2",
        ),
        (frame()[1].with_columns(weight=pl.lit(0.0)), "item 'item-0': 'weight' must be above 0, got 0"),
        (frame()[1].with_columns(label=pl.lit(True)), "'baseline-max' cannot be fitted: all training rows are correct"),
    ],
)
def test_labels_on_which_nothing_can_be_fitted_are_refused(labels: pl.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        es.fit(frame()[0], labels, "baseline-max")


def test_unknown_names_and_several_kinds_of_log_probabilities_are_refused() -> None:
    features, labels = frame()
    with pytest.raises(InputError, match="logprobs_mode must be the same"):
        es.fit(features.with_columns(logprobs_mode=pl.col("benchmark")), labels)
    with pytest.raises(ConfigError, match="unknown estimator 'atc'; known: .*atc-SIGNAL"):
        es.fit(features, labels, "atc")
    with pytest.raises(InputError, match="column 'route' .*: model, benchmark$"):
        es.estimate(es.fit(features, labels), features, by=["route"])
    with pytest.raises(AttributeError, match="has no attribute 'read'; its verbs: .*read_logs"):
        es.read  # noqa: B018


def test_files(tmp_path: Path) -> None:
    assert es.read_logs(str(TINY.traces / "a*.parquet"))["benchmark"].unique().to_list() == ["averages"]
    assert es.read_features(TINY.traces).equals(es.features(es.read_logs(TINY.traces)))
    with pytest.raises(InputError, match="none.parquet: no such file or folder"):
        es.read_logs(tmp_path / "none.parquet")
    with pytest.raises(ContractError):
        es.read_logs(TINY.labels)
    with pytest.raises(InputError, match="features or generations, .*labels"):
        es.read_features(TINY.labels)


def test_only_csv_files_with_log_probabilities_are_read_as_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "labels.csv").write_text("item_id,label\na,true\n")
    with pytest.raises(InputError, match=r"token_logprobs and .*: labels.csv"):
        es.read_logs(tmp_path)
    table = "item_id;token_logprobs;top_logprobs\na;[-0.1];[[-0.1, -2.5]]\n"
    (tmp_path / "day.csv").write_text(table)
    (tmp_path / ".hidden.csv").write_text(table)
    (tmp_path / "night.csv.gz").write_bytes(gzip.compress(table.replace("-0.1", "-0.2").encode()))
    assert es.read_logs(tmp_path)["benchmark"].to_list() == ["day", "night"]
    (message,) = caplog.messages
    assert message.endswith("token_logprobs and top_logprobs: labels.csv")


def test_labels_of_a_cluster_count_by_how_alike_they_are() -> None:
    """Five labels each of 60 conversations a domain: all alike, they are 60 labels; independent ones are all 300."""
    rng = np.random.default_rng(0)
    values, _ = rows(1500, 4)
    talk = np.repeat(np.arange(300), 5)
    table = values.with_columns(
        model=pl.lit("m"),
        benchmark=pl.Series([f"domain-{number // 60}" for number in talk]),
        item_id=pl.int_range(pl.len()).cast(pl.String),
        reason=pl.lit(None, pl.String),
        talk=pl.Series(talk),
    )
    alike, own = rng.random(300)[talk] < 0.6, rng.random(1500) < 0.6
    for label, column, wanted in ((alike, "talk", 60), (own, "talk", 300), (own, None, 300)):
        fitted = es.fit(table.with_columns(label=pl.Series(label)), estimator="atc-max", cluster=column)
        sizes = [domain.n for domain in fitted.validation.domains]
        assert sizes == pytest.approx([wanted] * 5, rel=0.2)
    asked = table.with_columns(label=pl.Series(alike), question=pl.Series(talk).cast(pl.String))
    assert [domain.n for domain in es.fit(asked, estimator="atc-max").validation.domains] == [60] * 5
