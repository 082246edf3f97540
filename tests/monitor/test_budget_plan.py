"""`sample` as the planner of a budget: what is drawn for people and for a judge, and what it says beforehand."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from calling import run
from production import fitted, line, log_file, saved, traffic

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.judges.judge_prompts import WITHOUT_REFERENCE
from entropy_sentinel.monitor.labelling import judge_budget
from entropy_sentinel.monitor.labelling.sample_plan import make_sample_tables

QUESTION, RESPONSE = "What is the capital of France?", "It is Paris."
# The prompt of these texts, at four characters a token.
PROMPT_TOKENS = len(WITHOUT_REFERENCE.system + WITHOUT_REFERENCE.user.format(question=QUESTION, response=RESPONSE)) / 4
PRICES = {"usd_per_million_input_tokens": 2.0, "usd_per_million_output_tokens": 10.0, "judge_reply_tokens": 50}
USD_PER_VERDICT = (PROMPT_TOKENS * 2 + 50 * 10) / 1e6
# What `judge` must still have for its last request: a reply of 4,096 tokens, and a token for each byte of the prompt.
USD_OF_LAST = (PROMPT_TOKENS * 4 * 2 + 4096 * 10) / 1e6


def log(sizes: dict[str, int]) -> pl.DataFrame:
    """Features and texts of so many responses of each route."""
    routes = np.random.default_rng(5).permutation([name for name, n in sizes.items() for _ in range(n)])
    texts = {"question": pl.lit(QUESTION), "response": pl.lit(RESPONSE)}
    return traffic(len(routes)).with_columns(pl.Series("route", routes), **texts)


@pytest.fixture(scope="module")
def five() -> pl.DataFrame:
    return log({"science": 300, "contest": 200, "exam": 150, "practice": 60, "homework": 40})


@pytest.mark.parametrize("has_estimator", [False, True])
def test_the_responses_to_label_are_among_those_to_judge_and_both_represent_the_slices(
    five: pl.DataFrame, has_estimator: bool
) -> None:
    """The dollars pay for 400 verdicts: by hand 100 for each of three routes, and all 60 and 40 of the others."""
    estimator = fitted() if has_estimator else None
    budget = 400 * USD_PER_VERDICT + USD_OF_LAST
    chosen = es.sample(estimator, five, ["route"], budget=100, judge_usd=budget, **PRICES)
    judged = dict(chosen.slices.select("route", "n_to_judge").rows())
    assert judged == {"science": 100, "contest": 100, "exam": 100, "practice": 60, "homework": 40}
    assert chosen.judge_budget.usd_per_verdict == pytest.approx(USD_PER_VERDICT)
    assert chosen.responses.join(chosen.to_judge, on="item_id", how="anti").is_empty()
    sizes = dict(five.group_by("route").len().rows())
    for table, n in ((chosen.responses, 100), (chosen.to_judge, 400)):
        assert table["item_id"].n_unique() == len(table) == n
        sums = dict(table.group_by("route").agg(pl.col("weight").sum()).rows())
        assert sums == pytest.approx(sizes)
    assert chosen.to_judge.columns == chosen.responses.columns
    if not has_estimator:
        assert dict(chosen.slices.select("route", "n_to_label").rows()) == dict.fromkeys(sizes, 20)


def test_no_more_verdicts_than_are_useful_and_no_fewer_than_labels(five: pl.DataFrame) -> None:
    """Ten for each label, at least 200 in a slice: 300 of 300 with 30 labels, 200 with 5."""
    science = five.filter(pl.col("route") == "science")
    for budget, expected in ((30, 300), (5, 200)):
        chosen = es.sample(None, science, ["route"], budget=budget, judge_usd=5, **PRICES)
        assert len(chosen.to_judge) == expected
    assert f"{5 - 200 * USD_PER_VERDICT:.2f} dollars are left over" in repr(chosen)
    with pytest.raises(InputError, match="judge_usd: .*; give at least ") as error:
        es.sample(None, five, ["route"], budget=100, judge_usd=0.001, **PRICES)
    # The number that it names is enough, and not much more than necessary.
    named = float(str(error.value).split("give at least ")[1].split(",")[0])
    assert 99 * USD_PER_VERDICT + USD_OF_LAST < named < 1.2 * (100 * USD_PER_VERDICT + USD_OF_LAST)
    assert len(es.sample(None, five, ["route"], budget=100, judge_usd=named, **PRICES).to_judge) >= 100
    assert "dollars are kept back" in repr(es.sample(None, five, ["route"], budget=100, judge_usd=named, **PRICES))


@pytest.mark.parametrize("has_estimator", [False, True])
def test_no_slice_gets_more_labels_than_asked_for(five: pl.DataFrame, has_estimator: bool) -> None:
    """The budget is for five slices, and the logs have one and a small one."""
    logs = five.filter(pl.col("route").is_in(["science", "homework"]))
    estimator, limits = fitted() if has_estimator else None, {"per_slice": 30, "max_per_slice": 30}
    chosen = es.sample(estimator, logs, ["route"], budget=150, **limits)
    assert dict(chosen.slices.select("route", "n_to_label").rows()) == {"science": 30, "homework": 30}
    with pytest.raises(ConfigError, match="max_per_slice: must be at least per_slice, 40, got 30"):
        es.sample(estimator, logs, ["route"], **{**limits, "per_slice": 40})


def test_the_prices_of_a_judge(five: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = {"litellm_provider": "openai", "input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5}
    (tmp_path / judge_budget._PRICE_TABLE).write_text(json.dumps({"small": prices, "openai/free": {}}))
    judge_budget._price_table.cache_clear()
    monkeypatch.setattr(judge_budget, "find_spec", lambda _: SimpleNamespace(submodule_search_locations=[tmp_path]))
    monkeypatch.setattr(judge_budget, "version", lambda _: "1.2")
    options = {"budget": 100, "judge_usd": 1, "judge_reply_tokens": 50}
    found = es.sample(None, five, ["route"], judge_model="openai/small", **options).judge_budget
    assert (found.usd_per_verdict, found.source) == (pytest.approx(USD_PER_VERDICT), "LiteLLM 1.2")
    for model in ("other/small", "openai/free", "unknown"):
        with pytest.raises(ConfigError, match=f"no prices of '{model}'; give usd_per_million_input_tokens"):
            es.sample(None, five, ["route"], judge_model=model, **options)
    judge_budget._price_table.cache_clear()
    monkeypatch.setattr(judge_budget, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="not installed"):
        es.sample(None, five, ["route"], judge_model="openai/small", **options)
    with pytest.raises(ConfigError, match="judge_usd: needs the judge's prices"):
        es.sample(None, five, ["route"], **options)
    with pytest.raises(ConfigError, match="set both of"):
        es.sample(None, five, ["route"], usd_per_million_input_tokens=1, **options)
    with pytest.raises(ConfigError, match="judge_usd: must be set"):
        es.sample(None, five, ["route"], judge_model="openai/small")
    judge_budget._price_table.cache_clear()


def test_a_hundred_labels_are_for_knowing_the_slices_now(five: pl.DataFrame) -> None:
    chosen = es.sample(None, five, ["route"], budget=100)
    assert (chosen.purpose, chosen.next_step) == ("watch", "monitor LOGS --by route")
    assert chosen.prospects is None
    assert "0%" not in repr(chosen).replace("80%", "").replace("90%", "")
    assert "Best use of this budget: know these slices now" in chosen.notes[0]
    assert "about 720 labels (20 in each of 36 domains); or about" in chosen.notes[1]
    widths = chosen.slices.select("width_labels_alone", "width_with_estimator", "width_with_judge", "width_with_both")
    assert all(row == tuple(sorted(row, reverse=True)) for row in widths.iter_rows())
    [(headings, rows)] = make_sample_tables(chosen)
    assert [len(row) for row in rows] == [len(headings)] * 5
    assert chosen._repr_html_().count("<tr>") == 6


def test_many_labels_of_many_domains_are_for_a_validated_estimator() -> None:
    """A little less probable than with fewer domains of more labels, but none is left out."""
    features = log({f"route {n}": 40 for n in range(30)})
    chosen = es.sample(None, features, ["route"], budget=900)
    assert (chosen.purpose, chosen.next_step) == ("validate", "fit LOGS --domain route")
    assert chosen.slices["n_to_label"].to_list() == [30] * 30
    assert "Best use of this budget: a validated estimator" in chosen.notes[0]
    best = chosen.prospects.group_by("domains", "labels").agg(pl.max("usable", "usable_with_judge"))
    assert best.select(pl.max_horizontal("usable", "usable_with_judge")).to_series().min() >= 0.05
    # Two thirds of the labels, and the dollars for 200 verdicts of each domain, are for a `fit` with a judge.
    with_judge = es.sample(None, features, ["route"], budget=300, judge_usd=100, **PRICES)
    assert (with_judge.purpose, set(with_judge.slices["n_to_label"])) == ("validate", {10})
    assert es.sample(None, features, ["route"], budget=300).purpose == "watch"


def test_slices_of_several_models_are_watched(five: pl.DataFrame) -> None:
    features = five.with_columns(model=pl.col("user"))
    chosen = es.sample(None, features, ["model", "route"], budget=100)
    assert len(chosen.slices) == 10
    assert any("2 models" in note for note in chosen.notes)
    with pytest.raises(InputError, match='several models .*; watch each with by="model", or use one: where="model='):
        es.sample(None, features, ["route"], budget=100)


def test_a_log_without_log_probabilities(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The API returns none; two of 62 requests were refused, and have no answer."""
    records = [
        {
            "id": f"reply-{number}",
            "model": "m",
            "messages": [{"role": "user", "content": QUESTION}],
            "choices": [
                {"message": {"content": RESPONSE}, "finish_reason": "stop" if number > 1 else "refused: content filter"}
            ],
            "metadata": {"route": "shop" if number % 3 else "school"},
        }
        for number in range(62)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    call = ("sample", path, "--by", "metadata.route", "-n", 20, "--judge-usd", 1, "-o", tmp_path / "to_label.csv")
    prices = [f"--{name.replace('_', '-')}={value}" for name, value in PRICES.items()]
    status, _, errors = run(capsys, *call, *prices)
    assert (status, "--to-judge" in errors) == (1, True)
    status, text, _ = run(capsys, *call, *prices, "--to-judge", tmp_path / "to_judge.csv")
    assert status == 0
    assert "no log-probabilities" in text
    # Without them nothing is fitted, so nothing is said of a `fit`.
    assert [word for word in ("watch for drops", "`fit`", "`usable`") if word in text] == []
    assert "left out: 2 responses without an answer" in text
    sums = [pl.read_csv(tmp_path / name)["weight"].sum() for name in ("to_label.csv", "to_judge.csv")]
    assert sums == pytest.approx([60, 60])
    commands = [line for line in text.splitlines() if line.startswith("  entropy-sentinel")]
    assert [command.split()[1] for command in commands] == ["judge", "monitor"]
    assert "--usd-per-million-output-tokens 10" in commands[0]
    assert commands[1].endswith(f"--labels {tmp_path / 'to_label.csv'} --judged verdicts.csv")


def test_the_commands_after_a_sample_with_an_estimator(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    records = [line(number, question=QUESTION, text=RESPONSE) for number in range(60)]
    call = ("sample", saved(tmp_path, "log-3d"), log_file(tmp_path / "log.jsonl", records), "--by", "route", "-n", 20)
    prices = [f"--{name.replace('_', '-')}={value}" for name, value in PRICES.items()]
    files = ("-o", tmp_path / "people.csv", "--to-judge", tmp_path / "judge.csv")
    status, text, _ = run(capsys, *call, "--judge-usd", 1, *prices, *files)
    assert status == 0
    monitor = f"monitor ESTIMATOR LOGS --by route --labels {tmp_path / 'people.csv'} --judged verdicts.csv"
    assert text.splitlines()[-1] == f"  entropy-sentinel {monitor}"
