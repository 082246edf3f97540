"""The recipes of CONTRIBUTING.md, followed word by word: what an extension adds arrives in a run."""

import json
import math
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import recipes
import yaml
from production import line, log_file, saved
from prometheus_client.parser import text_string_to_metric_families
from snakemake_report import read_results
from tiny import TINY
from workflow_runs import Project

import entropy_sentinel as es

pytestmark = pytest.mark.slow

BENCHMARKS = ["averages", "multiply-then-add", "one-digit-addition", "two-digit-multiplication"]
# What the study of the recipes needs beside them: traces that are there, and estimators that are quick.
STUDY = {
    "study": "added",
    "run": {"models": ["made-elsewhere"], "benchmarks": [*BENCHMARKS, "odd"], "groups": ["extremes"], "sizes": []},
    "estimation": {"trees": 10, "hidden_layers": [[5]]},
    "groups": {"extremes": {"configurations": "default"}},
    "models": {"made-elsewhere": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}},
    "analyses": {
        "accuracy": {
            "tables": ["1_auroc", "3_simple_estimators", "11_counts"],
            "figures": [],
            "auroc_models": ["made-elsewhere"],
            "auroc_benchmarks": ["averages"],
            "figure_model": "made-elsewhere",
        }
    },
}
# Two tokens with the entropies of a coin, and of one that shows heads in three of four throws.
COIN, BIASED = [math.log(0.5)] * 2, [math.log(0.75), math.log(0.25)]
RECORD = {
    "number": "a-1",
    "model": "m",
    "said": "yes",
    "ended": "stop",
    "route": "shop",
    "right": True,
    "steps": [{"sampled": COIN[0], "likely": COIN}, {"sampled": BIASED[0], "likely": BIASED}],
}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, object]]:
    """A copy of the project in which every recipe has been followed, and the config that they show."""
    project = Project(tmp_path_factory.mktemp("added"), ["demo/config.yaml", "mine.yaml"])
    return project, recipes.merged(recipes.apply(project.folder), STUDY)


@pytest.fixture(scope="module")
def added(followed: tuple[Project, dict[str, object]]) -> Path:
    """The folder of a finished study that uses one new thing of each kind."""
    project, study = followed
    (project.folder / "mine.yaml").write_text(yaml.safe_dump(study))
    (project.folder / "odd.jsonl").write_text('{"data": {"text": ["What?"], "gold": 4}}\n' * 20)
    (project.folder / "traces").mkdir()
    for path in TINY.traces.iterdir():
        pl.read_parquet(path).write_parquet(project.folder / "traces" / path.name)
    made = pl.read_parquet(project.folder / "traces" / "averages.parquet").head(20)
    ids = pl.Series("item_id", [f"odd-{row:05d}" for row in range(20)])
    made.with_columns(ids).write_parquet(project.folder / "traces" / "odd.parquet")
    # It ends with how to put everything into one file (`test_the_new_analysis_is_in_the_report_of_snakemake`).
    assert "snakemake --configfile demo/config.yaml mine.yaml --report report.html" in project.run()
    return project.folder


def outside(folder: Path) -> dict[str, str]:
    """The environment in which the copy has the extension of the recipes without a study."""
    return {"PYTHONPATH": str(folder / "workflow"), "ENTROPY_SENTINEL_EXTENSIONS": str(folder / "mine")}


def in_the_copy(folder: Path, *arguments: str) -> str:
    """What a Python of the copy prints."""
    environment = os.environ | outside(folder)
    return subprocess.check_output([sys.executable, *arguments], cwd=folder, env=environment, text=True)


def test_every_recipe_has_blocks() -> None:
    guide = recipes.GUIDE.read_text()
    for recipe in guide.partition("## Recipes")[2].split("\n### ")[1:]:
        named = [block for block in recipes.blocks() if block[2] in recipe]
        assert named, recipe.splitlines()[0]
    # No block is passed over: each of these kinds names its file.
    kinds = ("python", "diff", "jinja", "snakemake", "yaml")
    assert len(recipes.blocks()) == sum(guide.count(f"```{kind}\n") for kind in kinds)


def test_only_the_last_recipes_touch_the_package() -> None:
    extension, _, package = recipes.GUIDE.read_text().partition("## Recipes")[2].partition("## Recipes for the package")
    places = {name for _, name, text in recipes.blocks() if text in extension}
    assert {name.partition("/")[0] for name in places} == {"mine", "mine.yaml"}
    assert any(text in package for _, _, text in recipes.blocks())


def test_a_log_of_the_new_format_is_read(followed: tuple[Project, dict[str, object]]) -> None:
    folder = followed[0].folder
    records = [RECORD, RECORD | {"number": "a-2", "steps": 3}]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    saved(folder, "group-accuracy")
    code = """
import entropy_sentinel as es
es.read_features("log.jsonl").write_json("features.json")
estimate = es.estimate("group-accuracy.estimator", "log.jsonl", any_model=True, any_logprobs=True)
print(*es.read_labels("log.jsonl")["label"], *estimate["true_accuracy"])
"""
    assert in_the_copy(folder, "-c", code).split() == ["True", "1.0"]
    (row,) = json.loads((folder / "features.json").read_text())
    biased = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    assert (row["item_id"], row["route"], row["n_tokens"]) == ("a-1", "shop", 2)
    assert row["max"] == pytest.approx(math.log(2), abs=1e-6)
    assert row["last"] == pytest.approx(biased, abs=1e-6)


# What the copy's monitor finds in the folder `logs`, with the state of a run before, and all that shows it.
WATCH = """
import json
import entropy_sentinel as es
from entropy_sentinel.monitor.showing.result_files import format_metrics
from entropy_sentinel.monitor.showing.result_files import write_rows
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts

found = es.monitor("atc-se_sum.estimator", "logs", by=["route"], state="state", min_responses=2)
for name in ("rows.csv", "rows.json", "rows.parquet"):
    write_rows(found, name)
(table,) = [part for part in make_parts(found) if not isinstance(part, str)]
columns = {column.header: list(column.cells) for column in table.columns}
said = {"table": columns, "page": render_page(found), "metrics": format_metrics(found), "notes": found.problems.lines()}
print(json.dumps(said | {"reasons": dict(found.slices.select("route", "reasons").rows())}))
"""


@pytest.fixture(scope="module")
def watched(followed: tuple[Project, dict[str, object]]) -> tuple[Path, pl.DataFrame, dict[str, Any]]:
    """The folder, its slices before the statistic was there, and what is said of them with it.

    Of the eight responses from the shop two are refusals, of the five from the school none. One log is gone by then.
    """
    folder = followed[0].folder
    (folder / "logs").mkdir()
    said = {True: "I cannot help with that.", False: "It costs 5."}
    shop = [line(number, route="shop", text=said[number < 2]) for number in range(8)]
    log_file(folder / "logs" / "1.jsonl", [*shop, *(line(number, route="school") for number in range(8, 13))])
    gone = log_file(folder / "logs" / "gone.jsonl", [line(20, route="gone")])
    options = {"by": ["route"], "state": folder / "state", "min_responses": 2}
    before = es.monitor(saved(folder, "atc-se_sum"), str(folder / "logs"), **options)
    gone.unlink()
    return folder, before.slices, json.loads(in_the_copy(folder, "-c", WATCH))


def test_the_new_statistic_is_in_rows_and_files(watched: tuple[Path, pl.DataFrame, dict[str, Any]]) -> None:
    folder, before, _ = watched
    rows = pl.read_parquet(folder / "rows.parquet")
    assert dict(rows.select("route", "refused_share").rows()) == {"shop": 0.25, "school": 0.0, "gone": None}
    assert rows.columns[rows.columns.index("refused_share") - 2] == "cut_off_share"
    numbers = [name for name in before.columns if name not in ("flags", "flag_codes", "reasons")]
    assert rows.select(numbers).equals(before.select(numbers))
    assert pl.read_csv(folder / "rows.csv")["refused_share"].to_list() == rows["refused_share"].to_list()
    slices = json.loads((folder / "rows.json").read_text())["slices"]
    assert [row["refused_share"] for row in slices] == rows["refused_share"].to_list()


def test_the_new_statistic_is_shown(watched: tuple[Path, pl.DataFrame, dict[str, Any]]) -> None:
    said = watched[2]
    named = dict(zip(said["table"]["route (all responses)"], said["table"]["refused"], strict=True))
    assert named == {"shop": "25.0%", "school": "0.0%", "gone": "-"}
    meaning = "Share of the responses that the model refused."
    assert ">25.0%</td>" in said["page"]
    assert f"<dt>refused</dt><dd>{meaning}</dd>" in said["page"]
    families = {one.name: one for one in text_string_to_metric_families(said["metrics"])}
    family = families["entropy_sentinel_refused_share"]
    assert family.documentation == meaning
    assert {one.labels["route"]: one.value for one in family.samples} == {"shop": 0.25, "school": 0.0}
    assert "25% of the responses are refusals" in said["reasons"]["shop"]
    assert not any("refusals" in reason for route in ("school", "gone") for reason in said["reasons"][route])


def test_a_state_from_before_the_new_statistic_is_used_and_says_what_is_not_known(
    watched: tuple[Path, pl.DataFrame, dict[str, Any]],
) -> None:
    (note,) = [one for one in watched[2]["notes"] if "refused_share" in one]
    assert note.startswith("1 file ")
    assert note.endswith("gone.jsonl")


def test_the_new_option_and_the_new_place_for_alerts(
    followed: tuple[Project, dict[str, object]], tmp_path: Path
) -> None:
    """Of two slices the smaller one has the fewer expected errors: it is an alert until the option says otherwise."""
    folder = followed[0].folder
    sizes = {"small": 3, "large": 40}
    lines = [line(n, route=route, id=f"{route}-{n}") for route, size in sizes.items() for n in range(size)]
    log, estimator = log_file(tmp_path / "log.jsonl", lines), saved(tmp_path, "group-accuracy")
    rows = es.monitor(estimator, log, ["route"]).slices
    errors = dict(rows.select("route", "expected_errors").rows())
    call = ["monitor", str(estimator), str(log), "--by", "route", "--min-responses", "1", "--fail-below", "1"]
    between = ["--fewest-errors", str((errors["small"] + errors["large"]) / 2)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        target = ["--syslog", f"127.0.0.1:{server.getsockname()[1]}", "--alerts", str(tmp_path / "alerts.json")]
        for more, expected in (([], {"small", "large"}), (between, {"large"})):
            program = f"from entropy_sentinel.cli.main import main; main({[*call, *target, *more]!r})"
            environment = os.environ | outside(folder)
            done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True)
            assert done.returncode == 4, done.stderr
            alerts = json.loads((tmp_path / "alerts.json").read_text())["alerts"]
            assert {one["slice"]["route"] for one in alerts} == expected
            assert sorted(server.recv(1000).decode() for _ in alerts) == sorted(
                f"<132>entropy-sentinel: {one['message']}" for one in alerts
            )


@pytest.mark.parametrize(
    ("ending", "command"),
    [
        pytest.param(".py", "mypy", marks=[pytest.mark.long, pytest.mark.nightly]),
        (".py", "ruff check"),
        (".py", "ruff format --check"),
        (".smk", "snakefmt --check"),
    ],
)
def test_recipes_are_as_the_linters_want_them(
    followed: tuple[Project, dict[str, object]], ending: str, command: str
) -> None:
    files = sorted({name for _, name, _ in recipes.blocks() if name.endswith(ending)})
    program, *arguments = command.split()
    call = [str(Path(sys.executable).with_name(program)), *arguments, *files]
    done = subprocess.run(call, cwd=followed[0].folder, capture_output=True, text=True)
    assert files
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_each_arrives_in_results_and_tables(added: Path) -> None:
    results = added / "results" / "added"
    features = pl.read_parquet(results / "features" / "made-elsewhere" / "odd.parquet")
    assert features["last"].null_count() == 0
    assert pl.read_parquet(results / "benchmarks" / "odd.parquet")["question"].to_list() == ["What?"] * 20
    labels = pl.read_parquet(results / "labels" / "mine" / "made-elsewhere" / "odd.parquet")
    traces = pl.read_parquet(added / "traces" / "odd.parquet")
    assert labels["label"].to_list() == ["a" in text for text in traces["text"]]
    estimates = pl.read_parquet(next((results / "estimates" / "mine" / "made-elsewhere").iterdir()))
    by_name = dict(estimates.group_by("estimator").agg(pl.col("estimated_accuracy").mean()).iter_rows())
    assert by_name["nearest"] is not None
    assert {"baseline-last", "atc-last"} < by_name.keys()
    tables = {path.stem: path.read_text() for path in (results / "mine" / "tables").glob("*.csv")}
    assert "Last H" in tables["table_1_auroc"]
    assert "Nearest domain" in tables["table_3_simple_estimators"]
    assert "ATC, Last H" in tables["table_3_simple_estimators"]
    assert "made-elsewhere,odd,20" in tables["table_11_counts"]
    assert "How many responses" in (results / "mine" / "report.html").read_text()


@pytest.mark.slow
def test_an_edited_judge_reruns_labels_only_with_a_raised_version(
    followed: tuple[Project, dict[str, object]], added: Path
) -> None:
    settings = added / "mine" / "judges" / "letter.py"
    text = settings.read_text()
    try:
        settings.write_text(text.replace("no response", "nothing was said"))
        assert followed[0].planned() == {}
        settings.write_text(text.replace("ClassVar[int] = 1", "ClassVar[int] = 2", 1))
        assert followed[0].planned()["label"] == len(BENCHMARKS) + 1
    finally:
        settings.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rule"), [("tables/table_1_auroc.csv", "accuracy_tables"), ("summary.json", "accuracy_report")]
)
def test_a_deleted_exhibit_is_made_again(
    followed: tuple[Project, dict[str, object]], added: Path, name: str, rule: str
) -> None:
    assert followed[0].planned() == {}
    path = added / "results" / "added" / "mine" / name
    away = path.rename(added / "away")
    assert rule in followed[0].planned()
    away.rename(path)


@pytest.mark.slow
def test_the_signal_is_of_every_response(added: Path) -> None:
    results, place = added / "results" / "added", "made-elsewhere/averages.parquet"
    texts = pl.read_parquet(results / "generations" / place)["text"].to_list()
    shares = [sum(char.isdigit() for char in text) / len(text) for text in texts]
    made = pl.read_parquet(results / "signals" / "wording" / place)
    assert made["digits"].to_list() == pytest.approx(shares, abs=1e-12)
    observed = pl.read_parquet(results / "observations" / "mine" / "made-elsewhere.parquet")
    assert observed.filter(pl.col("benchmark") == "averages")["digits"].to_list() == made["digits"].to_list()
    tables = results / "mine" / "tables"
    assert "Digits" in (tables / "table_1_auroc.csv").read_text()
    assert "ATC, Digits" in (tables / "table_3_simple_estimators.csv").read_text()


@pytest.mark.slow
def test_the_signal_is_what_an_estimator_goes_by(added: Path) -> None:
    results = added / "results" / "added"
    rows = pl.read_parquet(results / "observations" / "mine" / "made-elsewhere.parquet").filter(
        pl.col("feature_reason").is_null()
    )
    (path,) = (results / "estimates" / "mine" / "made-elsewhere").iterdir()
    group = pl.col("benchmark").is_in(path.stem.split("+"))
    training = rows.filter(group, pl.col("split") == "train", pl.col("label").is_not_null())
    # Average thresholded confidence by its definition: as many responses count as are correct, fewest digits first.
    n_correct = training["label"].sum()
    threshold = training["digits"].sort()[n_correct - 1]
    below, tied = (training["digits"] < threshold).sum(), (training["digits"] == threshold).sum()
    weight = (n_correct - below) / tied
    estimates = pl.read_parquet(path).filter(pl.col("estimator") == "atc-digits", pl.col("role") == "held_out")
    assert len(estimates) > 1
    for domain, estimated in estimates.select("benchmark", "estimated_accuracy").iter_rows():
        digits = rows.filter(pl.col("benchmark") == domain)["digits"]
        assert estimated == pytest.approx((digits < threshold).mean() + weight * (digits == threshold).mean())


@pytest.mark.slow
def test_the_signal_reaches_the_card_and_the_monitor(added: Path) -> None:
    (kept,) = (added / "results" / "added" / "estimators" / "mine").rglob("atc-digits.estimator")
    # Of the text "yes" the share of digits is 0; the second log says that it is 1.
    for name, more in {"computed": {}, "said": {"digits": 1}}.items():
        (added / f"{name}.jsonl").write_text(json.dumps(RECORD | more) + "\n")
    code = f"""
import json
import entropy_sentinel as es

kept = es.load({str(kept)!r})
found = {{
    name: es.monitor(kept, f"{{name}}.jsonl", any_model=True, any_logprobs=True).slices["estimated_accuracy"][0]
    for name in ("computed", "said")
}}
features = es.read_features("said.jsonl", signals=["digits"])
found["verb"] = es.estimate(kept, features, any_model=True, any_logprobs=True)["estimated_accuracy"][0]
es.sample(kept, "said.jsonl", budget=1, any_model=True, any_logprobs=True)
print(json.dumps(found | {{"signals": kept.metadata.signals, "validation": kept.validation.estimator, "values": {{
    name: float(kept.estimator.values(es.read_features(f"{{name}}.jsonl", signals=["digits"]))[0, 0])
    for name in ("computed", "said")
}}}}))
"""
    found = json.loads(in_the_copy(added, "-c", code))
    assert found["signals"] == {"digits": "wording"}
    assert found["validation"] == "atc-digits"
    assert (found["computed"], found["said"], found["verb"]) == (1, 0, 0)
    assert found["values"] == {"computed": 1, "said": 0}


@pytest.mark.slow
def test_the_kept_estimator_can_be_loaded(added: Path) -> None:
    code = (
        "import entropy_sentinel as es, json, pathlib; print(json.dumps([es.load(one).estimator.shares for one in "
        "sorted(pathlib.Path('results/added/estimators').rglob('nearest.estimator'))]))"
    )
    (shares,) = json.loads(in_the_copy(added, "-c", code))
    estimates = pl.read_parquet(next((added / "results/added/estimates/mine/made-elsewhere").iterdir()))
    mine = estimates.filter(estimator="nearest")["estimated_accuracy"].drop_nulls().to_list()
    # Each slice has the accuracy of one of the labelled domains.
    assert len(mine) > 1
    assert all(min(abs(estimate - share) for share in shares) < 1e-9 for estimate in mine)


@pytest.mark.slow
def test_the_new_analysis_has_its_page_and_a_link(added: Path) -> None:
    page = (added / "results" / "added" / "lengths" / "made-elsewhere.html").read_text()
    lengths = pl.read_parquet(added / "traces" / "odd.parquet")["n_tokens"]
    numbers = (len(lengths), round(lengths.mean(), 1), (lengths > 5).sum())
    cells = "".join(f'<td class="n">{one}</td>' for one in numbers)
    assert f'<td class="name">odd</td>{cells}' in page
    assert '<figure id="figure_lengths_made-elsewhere">' in page
    assert "../lengths/made-elsewhere.html" in (added / "results" / "added" / "mine" / "report.html").read_text()


@pytest.mark.slow
def test_the_new_analysis_is_in_the_report_of_snakemake(
    followed: tuple[Project, dict[str, object]], added: Path
) -> None:
    assert "report.html" in followed[0].run("--report", "report.html")
    shown = read_results(added / "report.html")
    figure = shown["results/added/lengths/figures/figure_lengths_made-elsewhere.png"]
    assert figure["labels"]["Exhibit"] == "Lengths of the responses, made-elsewhere"
    assert "responses of made-elsewhere, 20 bins." in figure["caption"]
    page = shown["results/added/lengths/made-elsewhere.html"]
    assert page["labels"] == {"Exhibit": "How long the responses are", "model": "made-elsewhere"}
    assert "<b>How long the responses are.</b>" in page["caption"]
    assert "Study: added. Model: made-elsewhere." in page["caption"]
    # The new table of the package's own analysis.
    table = shown["results/added/mine/tables/table_11_counts.html"]
    assert table["labels"]["Exhibit"] == "Table 11: Counts of responses"


def test_names_are_known_to_the_config_check(added: Path) -> None:
    code = """
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config import generation_requests

config = load_config(read_config(["config.yaml"]) | {"generation": {"prompt": "bare"}})
print(generation_requests.generation_settings(config, "qwen3-4b", "gsm8k")["prompt"])
"""
    assert in_the_copy(added, "-c", code) == "bare\n"


class ThrowingHandler(BaseHTTPRequestHandler):
    """The server of the recipe's second engine: heads for even seeds."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        side = "tails" if asked["seed"] % 2 else "heads"
        reply = json.dumps({"side": side, "probabilities": {"heads": 0.75, "tails": 0.25}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_the_new_engines_answer(added: Path) -> None:
    """The entropy of each response is that of a coin with 3/4 heads, thrown here or by a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ThrowingHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = f"""
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config import generation_requests
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.study.stages.feature_stage import write_features
from entropy_sentinel.study.stages.generation_stage import write_generations

raw = read_config(["config.yaml", "demo/config.yaml", "mine.yaml"])
here = {{"models": {{"thrown": {{"thrower": {{"url": "http://127.0.0.1:{server.server_port}"}}}}}}}}
for model, benchmark in (("coin", "odd"), ("thrown", "odd")):
    config = load_config(merge_sections(raw, here))
    generation_requests.announce_servers(config)
    settings = generation_requests.generation_settings(config, model, benchmark)
    assert "127.0.0.1" not in str(settings)
    write_generations("results/added/benchmarks/odd.parquet", settings, 1, f"a/b/{{model}}/odd.parquet")
    features = generation_requests.feature_settings(config, model)
    write_features(f"a/b/{{model}}/odd.parquet", features, f"a/b/features/{{model}}.parquet")
"""
    try:
        in_the_copy(added, "-c", code)
    finally:
        server.shutdown()
        server.server_close()
    for model in ("coin", "thrown"):
        answers = pl.read_parquet(added / "a" / "b" / model / "odd.parquet")
        assert set(answers["text"]) <= {"heads", "tails"}
        entropies = pl.read_parquet(added / "a" / "b" / "features" / f"{model}.parquet")["max"].to_list()
        assert entropies == pytest.approx([-0.75 * math.log(0.75) - 0.25 * math.log(0.25)] * 20, abs=1e-6)
    assert answers.filter(pl.col("seed") % 2 == 0)["text"].unique().to_list() == ["heads"]
