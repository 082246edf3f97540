"""Logs with everything that can be wrong: it is counted, named by file and line, and the rest is processed."""

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest
from production import change_metadata, fitted, line, log_file, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError, ProvenanceError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import MOST_PROBLEMS, Problems
from entropy_sentinel.monitor.reading.problem_records import Problem
from entropy_sentinel.monitor.reading.problem_texts import count_words, describe_problem


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    return fitted("atc-se_sum")


def test_a_log_with_all_of_it(estimator: FittedEstimator, tmp_path: Path) -> None:
    records = [
        line(0),
        "{broken",
        line(2, token_logprobs=None, top_logprobs=None),
        line(3, model="other"),
        line(4, k=5),
        line(5, time="yesterday"),
        line(6, time=None),
        line(7, time=0),
        line(8, route=None),
        line(9, time="2026-11-01T00:00:00"),
        line(10, text="", token_logprobs=[], top_logprobs=[]),
        line(11),
    ]
    path = log_file(tmp_path / "log.jsonl", records)
    result = es.monitor(estimator, path, by=["route"], window="day")
    problems = {
        "unreadable-record": 2,
        "no-features": 3,
        "other-model": 4,
        "other-logprobs": 5,
        "time-unreadable": 6,
        "time-missing": 7,
        "time-implausible": 8,
    }
    assert result.problems.counts == dict.fromkeys(problems, 1)
    assert result.problems.notes == dict.fromkeys(["no-answer", "time-step-back", "time-without-zone"], 1)
    found = {problem.kind.slug: problem for problem in result.problems}
    for slug, number in (problems | {"time-step-back": 10}).items():
        (place,) = found[slug].places
        assert place.partition(" (")[0] == f"{path}: line {number}"
    assert "must be a JSON object" in found["unreadable-record"].places[0]
    assert found["no-features"].subject == "no log-probabilities in the log"
    assert (found["other-model"].subject, found["other-model"].expected) == ("other", "m")
    logprobs = found["other-logprobs"]
    assert (logprobs.subject, logprobs.value, logprobs.expected) == ("top_k_returned", "5", "20")
    # Eleven responses, four of them without an estimate; three without a time, one without a route.
    assert result.slices["n_responses"].sum() == 11
    assert result.slices["n_excluded"].sum() == 4
    assert result.slices.filter(pl.col("route").is_null())["n_responses"].to_list() == [1]
    assert result.windows.filter(pl.col("window").is_null())["n_responses"].sum() == 3
    assert result.incomplete


def test_strict_stops_at_the_first(estimator: FittedEstimator, tmp_path: Path) -> None:
    for bad, message in (
        ("{broken", "must be a JSON object"),
        (line(1, model="other"), "responses of model 'other'"),
        (line(1, time="yesterday"), "responses with an unreadable time"),
    ):
        path = log_file(tmp_path / "log.jsonl", [line(0), bad, line(2)])
        with pytest.raises(InputError, match=f"^{path}: line 2: {message}"):
            es.monitor(estimator, path, by=["route"], window="day", strict=True)


def test_a_log_that_names_no_model_is_taken_for_the_estimators(estimator: FittedEstimator, tmp_path: Path) -> None:
    path = log_file(tmp_path / "log.jsonl", [line(0, model=...), line(1)])
    result = es.monitor(estimator, path)
    assert result.slices["n_estimated"].to_list() == [2]
    assert result.problems.notes == {"unnamed-model": 1}
    with pytest.raises(ProvenanceError, match="1 of model 'x'"):
        es.monitor(estimator, log_file(tmp_path / "log.jsonl", [line(0, model=...)]), model="x")


def test_a_log_of_any_format_packed_and_from_standard_input(estimator, tmp_path: Path, monkeypatch) -> None:
    log = log_file(tmp_path / "log.jsonl", [line(number) for number in range(40)])
    content, whole = log.read_bytes(), es.monitor(estimator, log, by=["route"])
    with gzip.open(tmp_path / "packed.jsonl.gz", "wb") as packed:
        packed.write(content)
    pl.read_ndjson(log).write_parquet(tmp_path / "table.parquet")
    features = written(es.read_features(log), tmp_path / "features.parquet")
    for path in ("packed.jsonl.gz", "table.parquet", features.name):
        assert es.monitor(estimator, tmp_path / path, by=["route"]).slices.equals(whole.slices), path
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert es.monitor(estimator, "-", by=["route"]).slices.equals(whole.slices)


def test_a_file_named_twice_counts_once(estimator: FittedEstimator, tmp_path: Path) -> None:
    path = log_file(tmp_path / "log.jsonl", [line(0), line(1)])
    assert es.monitor(estimator, [path, tmp_path / "*.jsonl", tmp_path]).slices["n_responses"].to_list() == [2]


def test_a_table_without_the_column_of_a_slice_beside_one_that_has_it(estimator, tmp_path: Path) -> None:
    for name, first, changes in (("a", 0, {}), ("b", 3, {"route": ...})):
        path = log_file(tmp_path / f"{name}.jsonl", [line(number, **changes) for number in range(first, first + 3)])
        pl.read_ndjson(path).write_parquet(path.with_suffix(".parquet"))
    result = es.monitor(estimator, sorted(tmp_path.glob("*.parquet")), by=["route"]).slices
    assert dict(result.select("route", "n_responses").rows()) == {None: 3, "shop": 2, "school": 1}


def test_no_responses_at_all(estimator: FittedEstimator, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no usable response"):
        es.monitor(estimator, log_file(tmp_path / "empty.jsonl", []), by=["route"])
    with pytest.raises(InputError, match="no usable response; 2 records .*line 1 .*line 2 "):
        es.monitor(estimator, log_file(tmp_path / "bad.jsonl", ["{]", "x"]))


def test_a_problem_of_several_records_of_a_file_is_told_once(estimator: FittedEstimator, tmp_path: Path) -> None:
    path = log_file(tmp_path / "log.jsonl", [line(0), '{"x": 1}', '{"x": 2}', '{"y": 2}'])
    [first, second, third] = next(iter(es.monitor(estimator, path).problems)).places
    assert first.startswith(f"{path}: line 2 (has no known format; fields: x. ")
    assert second == f"{path}: line 3"
    assert third.startswith(f"{path}: line 4 (has no known format; fields: y. ")


def packed(path: Path, numbers: range, keep: float = 1.0) -> Path:
    """A packed log, of which a share is kept."""
    content = gzip.compress("".join(json.dumps(line(number)) + "\n" for number in numbers).encode(), mtime=0)
    path.write_bytes(content[: int(len(content) * keep)])
    return path


def test_a_file_that_is_incomplete_counts_up_to_there_and_the_others_count(estimator, tmp_path: Path) -> None:
    paths = [packed(tmp_path / "a.jsonl.gz", range(300), keep=0.7), packed(tmp_path / "b.jsonl.gz", range(300, 310))]
    broken = written(traffic(50), tmp_path / "c.parquet")
    broken.write_bytes(broken.read_bytes()[:-200])
    result = es.monitor(estimator, [*paths, broken], by=["route"], window="day")
    assert result.problems.counts == {"damaged-file": 2}
    ((first, second),) = (problem.places for problem in result.problems if problem.kind.slug == "damaged-file")
    assert first.startswith(f"{paths[0]}: is damaged")
    assert second.startswith(f"{broken}: must be a whole Parquet file")
    assert 150 < result.slices["n_responses"].sum() - 10 < 300
    with pytest.raises(InputError, match="a.jsonl.gz: is damaged"):
        es.monitor(estimator, paths, strict=True)


def test_a_packed_log_that_is_still_written_is_replaced_by_the_whole(tmp_path: Path) -> None:
    estimator, path, options = saved(tmp_path, "atc-se_sum"), tmp_path / "a.jsonl.gz", {"by": ["route"]}
    packed(path, range(300), keep=0.5)
    half = es.monitor(estimator, path, state=tmp_path / "state", **options)
    assert half.incomplete
    packed(path, range(300))
    whole = es.monitor(estimator, path, state=tmp_path / "state", **options)
    assert (half.slices["n_responses"].sum() < 200, whole.slices["n_responses"].sum()) == (True, 300)
    assert whole.slices.equals(es.monitor(estimator, path, **options).slices)


def test_a_model_called_through_a_proxy_is_the_same_model(tmp_path: Path) -> None:
    names = ["hosted_vllm/m", "m", "litellm_proxy/m", "openai/m"]
    log = log_file(tmp_path / "log.jsonl", [line(number, model=names[number % 4]) for number in range(40)])
    result = es.monitor(fitted(), log, by=["model"])
    assert dict(result.slices.select("model", "n_estimated").rows()) == {"m": 30, "openai/m": 0}
    assert "10 responses of model 'openai/m'" in result.problems.lines()[0]
    old = change_metadata(fitted(), model="hosted_vllm/m")
    assert es.monitor(old, log, where=["model=hosted_vllm/m"]).slices["n_estimated"].to_list() == [30]


def test_kinds_have_their_own_codes_and_words_for_any_field() -> None:
    assert len({kind.slug for kind in ProblemKind}) == len(ProblemKind)
    for kind in ProblemKind:
        assert "ES200" < kind.number < "ES300"
        line = count_words(1, describe_problem(Problem(kind, "{s}", "{v}", "{e}")))
        assert line[:2] == "1 " or kind.slug.startswith("earlier")
    problems = Problems()
    for number in range(MOST_PROBLEMS + 5):
        problems.add(ProblemKind.NO_FEATURES, ["x"], subject=str(number))
    problems.add(ProblemKind.SERVER_REFUSED, ["y"])
    assert problems.counts == {"no-features": MOST_PROBLEMS, "further-problems": 5}
    assert problems.notes == {"server-refused": 1}
