"""Several models in one monitor: the rows of each model are those of a monitor of it alone."""

import gzip
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from calling import run
from production import change_metadata, fitted, line, log_file, traffic, written
from prometheus_client.parser import text_string_to_metric_families

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.feature_stream import SourceReader
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
from entropy_sentinel.monitor.showing.result_files import format_metrics

NAMES = {"a": "atc-se_sum", "b": "group-accuracy"}
SETTINGS = {"by": ["route"], "window": "day", "reference": "2026-11-02"}


def estimator(model: str) -> FittedEstimator:
    return change_metadata(fitted(NAMES.get(model, "atc-mtp")), model=model)


def of_model(model: str, n: int = 900, seed: int = 0) -> pl.DataFrame:
    ids = pl.format("{}-{}", pl.lit(model), "item_id")
    return traffic(n, seed).with_columns(model=pl.lit(model), item_id=ids)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("estimators")
    paths = {model: folder / f"{model}.estimator" for model in "ab"}
    for model, path in paths.items():
        es.save(estimator(model), path)
    return paths


def mixed(*models: str) -> pl.DataFrame:
    return pl.concat([of_model(model, seed=seed) for seed, model in enumerate(models)])


def of(result: Monitored, model: str, name: str) -> pl.DataFrame:
    frame = getattr(result, name)
    keys = [column for column in ("window", "route") if column in frame.columns]
    return frame.filter(pl.col("model") == model).drop("rank", "model", strict=False).sort(keys)


def test_each_model_has_the_numbers_of_its_own_monitor() -> None:
    result = es.monitor([estimator("a"), estimator("b")], mixed("a", "b"), **SETTINGS)
    assert result.by == ("model", "route")
    for model in "ab":
        alone = es.monitor(
            estimator(model), mixed("a", "b"), **{**SETTINGS, "by": ["model", "route"]}, where=[f"model={model}"]
        )
        for name in ("slices", "windows", "recent", "last_usable"):
            assert of(result, model, name).equals(of(alone, model, name)), (model, name)
    assert result.problems.counts == result.problems.notes == {}
    assert result.slices["rank"].to_list() == list(range(1, 7))
    assert result.slices["expected_errors"].is_sorted(descending=True)
    assert result.provenance["responses"]["in_all"] == 1800
    assert [about["model"] for about in result.provenance["estimators"]] == ["a", "b"]
    assert result.provenance["files"]["in_all"] == 1


def test_models_without_an_estimator_are_counted_once_and_left_out() -> None:
    result = es.monitor([estimator("a"), estimator("b")], mixed("a", "b", "c"), by=["route"])
    assert dict(result.problems.counts) == {"no-estimator": 900}
    (line,) = result.problems.lines()
    assert "not watched: no estimator (give one of this model too" in line
    assert set(result.slices["model"]) == {"a", "b"}
    watched = es.monitor([estimator("a"), estimator("b")], mixed("a", "b", "c"), by=["route"], where=["model=a"])
    assert set(watched.slices["model"]) == {"a"}
    assert not watched.problems.counts


def test_what_cannot_be_read_counts_once(tmp_path: Path) -> None:
    records = [line(number, id=f"{number}", model="ab"[number % 2]) for number in range(80)]
    log = log_file(tmp_path / "log.jsonl", [*records, "{broken"])
    result = es.monitor([estimator("a"), estimator("b")], log)
    assert dict(result.problems.counts) == {"unreadable-record": 1}
    assert result.slices["n_responses"].to_list() == [40, 40]


def test_each_file_is_read_once_for_all_models(files: dict[str, Path], tmp_path: Path, monkeypatch) -> None:
    """What was left out and damaged files count once; a model that is added later reads what it lacks."""
    read, frames = list[str](), SourceReader.read_frames

    def record(self: SourceReader, source: Path) -> Iterator[pl.DataFrame]:
        read.append(Path(source).name)
        return frames(self, source)

    monkeypatch.setattr(SourceReader, "read_frames", record)
    records = [line(number, id=f"{number}", model="ab"[number % 2]) for number in range(60)]
    logs = [log_file(tmp_path / f"{day}.jsonl", records[30 * day : 30 * day + 30]) for day in range(2)]
    logs.append(tmp_path / "cut.jsonl.gz")
    logs[-1].write_bytes(gzip.compress(json.dumps(line(0, id="z", model="a")).encode() + b"\n" * 9000)[:-20])
    options = {"by": ["route"], "where": ["route=shop"], "min_responses": 1}
    first = es.monitor([files["a"]], logs, **options, state=tmp_path / "state")
    for state in (None, tmp_path / "state"):
        read.clear()
        result = es.monitor(list(files.values()), logs, **options, state=state)
        assert read == ["0.jsonl", "1.jsonl", "cut.jsonl.gz"]
        assert result.problems.counts == {"damaged-file": 1}
        # A third of the sixty lines have another route, and so has the one of the damaged file.
        assert result.problems.notes["left-out"] == first.problems.notes["left-out"] == 21
        assert result.slices["n_responses"].to_list() == [20, 20]
    read.clear()
    again = es.monitor(list(files.values()), logs, **options, state=tmp_path / "state")
    assert (read, again.problems.counts, len(again.problems.earlier.files)) == ([], {}, 1)


def test_standard_input_has_several_models(files: dict[str, Path], tmp_path: Path, monkeypatch) -> None:
    records = [json.dumps(line(number, model="ab"[number % 2])) for number in range(40)]
    for state in (None, tmp_path / "state"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(records).encode())))
        assert es.monitor(list(files.values()), "-", state=state).slices["n_responses"].to_list() == [20, 20]


def test_a_model_that_stopped_is_stale_and_raises_no_old_alert() -> None:
    old = of_model("a").with_columns(time=pl.col("time") - timedelta(days=60))
    options = {"by": ["route"], "window": "day", "alert_on": ["stale"], "fail_below": 0.999}
    result = es.monitor([estimator("a"), estimator("b")], pl.concat([old, of_model("b")]), **options)
    kinds = {(alert["slice"]["model"], alert["kind"]) for alert in result.alerts}
    assert kinds == {("a", "stale"), ("b", "below")}
    silent = es.monitor([estimator("a"), estimator("b")], of_model("b"), by=["route"])
    assert silent.problems.lines() == ["1 model without a response: 'a'"]


def test_names_with_the_prefix_of_a_proxy_are_those_models() -> None:
    proxied = [estimator("hosted_vllm/a"), estimator("b")]
    result = es.monitor(proxied, mixed("a", "b"), by=["route"])
    assert set(result.slices["model"]) == {"a", "b"}
    assert not result.problems.counts
    watched = es.monitor(proxied, mixed("a", "b"), where=["model=hosted_vllm/a"])
    assert watched.slices["model"].to_list() == ["a"]


def test_each_model_pools_its_own_small_slices() -> None:
    result = es.monitor([estimator("a"), estimator("b")], mixed("a", "b"), by=["route"], max_slices=1)
    assert {"a, (others)", "b, (others)"} < {f"{model}, {route}" for model, route, *_ in result.slices.iter_rows()}
    families = {family.name: family.samples for family in text_string_to_metric_families(format_metrics(result))}
    samples = families["entropy_sentinel_estimated_accuracy"]
    assert len({tuple(sample.labels.items()) for sample in samples}) == len(samples) == 4
    assert "estimator file of a" in render_page(result)


def test_labels_of_either_model_count_as_matched() -> None:
    features = mixed("a", "b")
    chosen = features.gather_every(20)
    labels = chosen.select("item_id", label=pl.int_range(pl.len()) % 2 == 0)
    labels = pl.concat([labels, pl.DataFrame({"item_id": ["nowhere"], "label": [True]})])
    judged = features.gather_every(10).select("item_id", label=pl.int_range(pl.len()) % 3 == 0, judge=pl.lit("j"))
    options = {"by": ["route"], "labels": labels, "labels_at_random": True, "judged": judged}
    result = es.monitor([estimator("a"), estimator("b")], features, **options)
    assert dict(result.problems.notes) == {"label-unmatched": 1}
    assert result.slices["n_labelled"].sum() == len(chosen)
    # A witness is described for the responses of each model.
    assert [witness["responses_of"] for witness in result.provenance["judge"]] == ["a", "b"]
    assert sum(witness["n_seen"] for witness in result.provenance["judge"]) == len(judged)
    assert any(str(part).startswith("judge j (") and "of b): it agrees" in str(part) for part in make_parts(result))


def test_two_nights_of_a_scheduler(files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    log = written(mixed("a", "b"), tmp_path / "one.parquet")
    target = tmp_path / "rows.json"
    options = ["--by", "route", "--state", tmp_path / "state", "--output", target]
    status, shown, errors = run(capsys, "monitor", files["a"], files["b"], log, *options)
    assert (status, errors) == (0, "")
    fitted_on = "fitted on domain-0, domain-1, domain-2, domain-3: too few domains to say"
    assert shown.startswith(f"atc-se_sum of a, {fitted_on}; group-accuracy of b")
    first = json.loads(target.read_text())["slices"]
    assert {path.name for path in tmp_path.iterdir()} >= {"state.a", "state.b"}
    status, shown, _ = run(capsys, "monitor", files["a"], files["b"], log, *options)
    assert (status, "read now: 0" in shown) == (0, True)
    assert json.loads(target.read_text())["slices"] == first


def test_what_is_refused(files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    features, both = mixed("a", "b"), list(files.values())
    for estimators, logs, options, message in (
        ([files["a"]] * 2, features, {}, "must be of another model than the other estimators, got also of 'a'"),
        (both, features, {"any_model": True}, "any_model: must not be set with several estimators"),
        (both, features, {"where": ["model=c"]}, r"where: must name a model that has an estimator \(a, b\)"),
        ([], features, {}, "estimator: must be at least one"),
    ):
        with pytest.raises(ConfigError, match=message):
            es.monitor(estimators, logs, **options)
    with pytest.raises(InputError, match="estimator: must be the path of a file"):
        es.monitor([files["a"], None], features)
    with pytest.raises(InputError, match="the logs contain no usable response"):
        es.monitor(both, of_model("c"))
    assert run(capsys, "monitor", files["a"], files["b"])[0] == 1
