"""What somebody types in a notebook: paths for tables, one name for a list, and errors that name arguments."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from calling import run
from production import fitted, line, log_file, saved, traffic
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.api.feature_frames import FeatureFrames
from entropy_sentinel.core.errors import EntropySentinelError, InputError

LABELS = pl.DataFrame({"item_id": ["item-0", "item-1"], "label": [True, False]})


def test_labels_are_a_table_or_files() -> None:
    features, labels = es.read_features(TINY.traces), es.read_labels(TINY.labels)
    estimator = es.fit(features, labels, "atc-nll_sum")
    path = Path(TINY.labels)
    for files in (path, str(path), [path]):
        assert es.fit(features, files, "atc-nll_sum").metadata.to_dict() == estimator.metadata.to_dict()
    assert es.estimate(estimator, features, labels=path).equals(es.estimate(estimator, features, labels=labels))
    with pytest.raises(InputError, match=r"nosuch\.csv: no such file"):
        es.fit(features, "nosuch.csv", "atc-nll_sum")
    with pytest.raises(InputError, match=r"^labels: .*`read_labels`.* int$"):
        es.fit(features, 5, "atc-nll_sum")


def test_a_list_may_be_one_name_and_a_reference_one_day() -> None:
    estimator, features = fitted("log-3d"), traffic(200)
    options = {"by": "route", "window": "day", "reference": "2026-11-02"}
    result = es.monitor(estimator, features, alert_on="drop", **options)
    assert result.slices.equals(es.monitor(estimator, features, alert_on=["drop"], **options).slices)
    assert result.provenance["reference"] == ["2026-11-02T00:00:00+00:00", "2026-11-03T00:00:00+00:00"]
    assert es.read_features(TINY.log, columns="metadata.route")["metadata.route"].null_count() == 0
    with pytest.raises(InputError, match="^signals: must be names, got 3$"):
        es.read_features(TINY.traces, signals=3)


def test_fit_names_a_second_model_before_it_reads_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    compute = FeatureFrames._compute
    monkeypatch.setattr(FeatureFrames, "_compute", lambda self, frame: read.append(len(frame)) or compute(self, frame))
    names = [f"{model}-{number}" for model in "abc" for number in range(20)]
    logs = [
        log_file(tmp_path / f"{model}.jsonl", [line(n, model=model, id=f"{model}-{n}") for n in range(20)])
        for model in "abc"
    ]
    labels = pl.DataFrame({"item_id": names, "label": [True, False] * 30})
    with pytest.raises(
        InputError, match=r"model .* a \(20 responses\), b \(20 responses\) .*so far.*where=\"model=a\""
    ):
        es.fit(logs, labels, "atc-nll_sum")
    assert read == [20, 20]
    # Responses of other models need no label.
    assert es.fit(logs, labels.head(20), "atc-nll_sum", domain="route").metadata.model == "a"


OTHER_MODEL = "5 of model 'other': the estimator has model m"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda log: es.monitor(fitted("log-3d"), log), f'{OTHER_MODEL} (same_model="m=other" continues'),
        (lambda log: es.monitor(fitted("log-3d"), log, where="route=b"), "left out by where: route 'shop'"),
        (lambda log: es.monitor(fitted("log-3d"), log, alert_on="drop"), "(reference="),
        (lambda log: es.monitor(None, log), "(labels=...;"),
        (lambda log: es.monitor(None, log, labels=LABELS, any_model=True), 'by="model" tells them apart'),
        (lambda log: es.fit(traffic(20)), "(labels=...)"),
        (
            lambda log: es.fit(traffic(20), LABELS.with_columns(judge=pl.lit("j"))),
            "Give them to `fit` or `monitor` as judged",
        ),
        (lambda log: es.judge(LABELS), "exactly one of model, second_opinion and agrees_with"),
        (lambda log: es.sample(None, log, by="route", judge_usd=1), "give usd_per_million_input_tokens and"),
        (lambda log: es.read_logs({"a": 1}), "name it with reply;"),
        (lambda log: es.read_logs(log, where="route=b"), "where excludes all of them"),
    ],
)
def test_errors_name_arguments(call: Callable[[Path], object], words: str, tmp_path: Path) -> None:
    """And no option of the command."""
    log = log_file(tmp_path / "log.jsonl", [line(n, model="other") for n in range(5)])
    with pytest.raises(EntropySentinelError) as error:
        call(log)
    assert words in str(error.value)
    assert not re.search(r"(?<!\w)--[a-z]", str(error.value))


def test_errors_of_a_command_name_its_options(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Also after a notebook's function, and the other way round."""
    log = log_file(tmp_path / "log.jsonl", [line(n, model="other model") for n in range(5)])
    for _ in range(2):
        status, _, errors = run(capsys, "monitor", saved(tmp_path, "log-3d"), log)
        assert (status, "(--same-model 'm=other model' continues with them, --any-model takes them)" in errors) == (
            1,
            True,
        )
        with pytest.raises(EntropySentinelError, match="any_model=True takes them"):
            es.monitor(fitted("log-3d"), log)


@pytest.mark.parametrize("name", es._VERBS)
def test_help_names_arguments(name: str) -> None:
    """Commands are code in it, such as `monitor --ask`."""
    assert "--" not in re.sub(r"`[^`]*`", "", inspect.getdoc(es._verb(name)) or "")
