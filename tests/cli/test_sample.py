"""The subcommand sample: from a log to a file for a person to fill in."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import found_on, needs_browser
from calling import run
from page_checks import inspect_page
from production import line, log_file, saved
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.monitor.labelling.label_sheet import write_page


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("estimator") / "log-3d.estimator"
    es.save(es.fit(es.read_features(TINY.traces), es.read_labels(TINY.labels), "log-3d"), path)
    return path


def test_sample_writes_a_file_to_fill_in_and_what_to_expect(
    estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    target = tmp_path / "to_label.csv"
    call = ("sample", estimator, TINY.traces, "--by", "benchmark", "--budget", 40, "-o", target)
    status, message, errors = run(capsys, *call)
    assert (status, errors.split(":")[0]) == (0, "do not use")
    assert message.splitlines()[-1] == f"{target}: 40 of 160 responses to label, true or false in column 'label'"
    rows = list(csv.DictReader(target.read_text().splitlines(keepends=True)))
    assert [len(rows), {row["label"] for row in rows}] == [40, {""}]
    same = es.sample(es.load(estimator), TINY.traces, ["benchmark"], 40)
    assert [row["item_id"] for row in rows] == same.responses["item_id"].to_list()
    lines = [line.split() for line in message.splitlines()]
    shown = {words[0]: words[1:] for words in lines if words[1:2] == ["40"] and len(words) == 8}
    assert set(shown) == set(same.slices["benchmark"])
    row = same.slices.row(0, named=True)
    names = ("estimated_accuracy", "width_before", "width_labels_alone", "width_expected", "width_with_judge")
    numbers = [row[name] for name in names]
    assert shown[row["benchmark"]] == ["40", str(row["n_to_label"]), *(f"{one:.3f}" for one in numbers)]


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (["-n", 40, "-o", "a.xlsx"], "--output: must end with .csv, .jsonl"),
        (["-n", 4, "-o", "a.csv"], "budget: 4 "),
        (["-n", 40], "--html"),
        (["-n", 40, "--html", "a.html"], "--html: needs the texts"),
    ],
)
def test_wrong_calls_are_explained(estimator: Path, tmp_path: Path, capsys, monkeypatch, options, fact: str) -> None:
    monkeypatch.chdir(tmp_path)
    run(capsys, "features", TINY.traces, "-o", "features.parquet")
    status, _, errors = run(capsys, "sample", estimator, "features.parquet", *options)
    assert (status, fact in errors) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["features.parquet"]


HOSTILE = "</script><script>document.title = 'hostile'</script><b>bold</b>"
FORMULA = r"$\frac{1}{2}$ for $5 and $6, \(\text{<script>a</script>}\href{javascript:a}{x}\), \[\frac{\]"
PLAY = """
  const key = (name) => document.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
  const answered = () => document.getElementById("progress").value;
  at("logged").open = true;
  ["1", "1", "z"].forEach(key);
  const undone = [place, answered()];
  ["2", "3", ...Array(17).fill("1")].forEach(key);
  const saved = csv();
  answers.fill(null); load(saved);
  const found = {saved, again: csv(), title: document.title, bold: document.querySelectorAll(".text b").length,
                 undone, done: answered(), fractions: document.querySelectorAll("#response math mfrac mn").length,
                 hostile: document.querySelectorAll("#response script, #response [href]").length,
                 facts: at("facts").textContent, context: at("context").textContent, folded: !at("earlier").open,
                 reference: [at("reference").textContent, at("logged").open, at("logged").hidden],
                 question: at("question").textContent};
"""


def asked(question: str) -> list[dict[str, Any]]:
    """A conversation with instructions and an earlier turn, whose parts are a text and a picture."""
    parts = [{"type": "text", "text": f"Before. {HOSTILE}"}, {"type": "image_url", "image_url": {"url": "x"}}]
    return [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": question},
    ]


@pytest.mark.slow
@needs_browser
def test_the_monitor_reads_labels_saved_by_the_page(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """All but the third are labelled, on a telephone; the monitor counts them with their weights."""
    begins = ("=", "'=", "-", 'a,"b"', "")
    records = [
        line(
            n,
            id=f"{begins[n % 5]}req-{n}",
            text=f"{n} {HOSTILE} {FORMULA}",
            messages=asked(f"What is {n}? {HOSTILE}"),
            target=f"It is {n}. {HOSTILE}",
        )
        for n in range(60)
    ]
    log, model = log_file(tmp_path / "log.jsonl", records), saved(tmp_path, "log-3d")
    page = tmp_path / "label.html"
    status, message, _ = run(capsys, "sample", model, log, "--by", "route", "-n", 20, "--html", page)
    assert (status, message.splitlines()[-1].split(";")[0]) == (0, f"{page}: 20 of 60 responses to label")
    chosen = es.sample(model, log, ["route"], 20).responses
    result = found_on(page, PLAY, 390)
    assert result["again"] == result["saved"]
    assert (result["title"], result["bold"], result["hostile"]) == ("Responses to label", 0, 0)
    assert (result["undone"], result["done"], result["fractions"]) == ([1, 1], 19, 2)
    assert result["question"] == chosen["question"][2]  # the one that is left
    assert (result["facts"], result["folded"]) == (f"route: {chosen['route'][2]}", True)
    # It was opened at the first response.
    assert result["reference"] == [chosen["reference"][2], False, False]
    assert result["context"] == f"system: Be short.\n\nuser: Before. {HOSTILE} [image_url]\n\nassistant: Yes."
    assert inspect_page(page) == []
    (tmp_path / "labelled.csv").write_text(result["saved"])
    labels = es.read_labels(tmp_path / "labelled.csv")
    assert labels["label"].to_list() == [True, False, *[True] * 17]
    expected = chosen.select("item_id", "weight").filter(pl.int_range(pl.len()) != 2)
    assert {begins[int(one.split("-")[-1]) % 5] for one in expected["item_id"]} == set(begins)
    assert labels.select("item_id", "weight").equals(expected)
    counted = es.monitor(model, log, ["route"], labels=labels).slices
    assert counted["n_labelled"].sum() == 19


def test_the_page_does_not_show_the_estimate(tmp_path: Path) -> None:
    """Who labels should not know it."""
    model = saved(tmp_path, "log-3d")
    log = log_file(tmp_path / "log.jsonl", [line(n) for n in range(30)])
    write_page(es.sample(model, log, budget=10), tmp_path / "label.html")
    text = (tmp_path / "label.html").read_text()
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    shown = {"context", "question", "response", "reference", "cut_off", "caution", "item_id", "weight", "label"}
    assert set(data["rows"][0]) == shown
    assert pl.Series([row["label"] for row in data["rows"]]).null_count() == 10
