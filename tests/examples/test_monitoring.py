"""examples/monitoring: rules, dashboard and units, on the metrics that its script makes of the demo's logs."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import polars as pl
import pytest
import yaml
from fake_api import completion, fake_api, ok
from forked_commands import put_on_path
from programs import find_program
from serving import free_port, serving
from tiny import TINY

import entropy_sentinel as es

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "monitoring"
WAIT_S = 60
pytestmark = pytest.mark.slow
SCRAPES = {
    "scrape_configs": [{"job_name": "node", "static_configs": []}],
    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
    "rule_files": [str(FOLDER / "alerts.yml")],
}


@pytest.fixture(scope="module")
def watched(forks: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the script has run on the demo's logs."""
    folder = tmp_path_factory.mktemp("watched")
    fitted = es.fit(es.read_features(TINY.traces), es.read_labels(TINY.labels), "atc-nll_sum")
    es.save(fitted, folder / "mine.estimator")
    (folder / "logs").symlink_to(ROOT / "demo" / "logs")
    done = run_on(forks, folder, weekday=2)
    assert done.returncode == 4, done.stderr
    names = {"mine.estimator", "logs", "labels", "state", "metrics", "page.html"}
    assert {path.name for path in folder.iterdir()} == names
    return folder


def run_on(forks: str, folder: Path, weekday: int, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script on a day of the week, 1 for Monday, with further environment variables."""
    programs = folder.parent / f"{folder.name}-programs"
    programs.mkdir(exist_ok=True)
    date = programs / "date"
    date.write_text(f'#!/bin/sh\ncase "$1" in +%u) echo {weekday} ;; *) exec /bin/date "$@" ;; esac\n')
    date.chmod(0o755)
    environment = {**os.environ, "PATH": put_on_path(programs, forks)}
    environment |= variables
    return subprocess.run([FOLDER / "watch.sh"], cwd=folder, env=environment, capture_output=True, text=True)


def test_on_mondays_it_chooses_responses_to_label_and_later_uses_the_labels(forks: str, tmp_path: Path) -> None:
    fitted = es.fit(es.read_features(TINY.traces), es.read_labels(TINY.labels), "atc-nll_sum")
    es.save(fitted, tmp_path / "mine.estimator")
    (tmp_path / "logs").mkdir()
    for log in (ROOT / "demo" / "logs").iterdir():
        shutil.copyfile(log, tmp_path / "logs" / log.name)
    assert run_on(forks, tmp_path, weekday=1).returncode == 4
    (chosen,) = tmp_path.glob("to-label-*.csv")
    (page,) = tmp_path.glob("to-label-*.html")
    assert "Responses to label" in page.read_text()
    rows = pl.read_csv(chosen)
    assert len(rows) == 20
    rows.with_columns(label=pl.lit(True)).write_csv(tmp_path / "labels" / "monday.csv")
    # The drop was told on the day before, and goes on.
    done = run_on(forks, tmp_path, weekday=2)
    assert "labels say (n)" in done.stdout
    assert "rests on" in (tmp_path / "page.html").read_text()


def test_a_second_opinion_is_asked_within_a_budget_before_a_drop_is_told(forks: str, tmp_path: Path) -> None:
    """The other model always answers 42, with which no logged answer agrees, before and after the drop."""
    fitted = es.fit(es.read_features(TINY.traces), es.read_labels(TINY.labels), "atc-nll_sum")
    es.save(fitted, tmp_path / "mine.estimator")
    shutil.copytree(ROOT / "demo" / "logs", tmp_path / "logs", copy_function=shutil.copyfile)
    with fake_api(lambda body, number: ok(completion("42", [], 3))) as api:
        opinion = {
            "SECOND_OPINION": "hosted_vllm/big",
            "SECOND_OPINION_USD": "1",
            "SECOND_OPINION_URL": api.base_url,
            "SECOND_OPINION_INPUT": "1",
            "SECOND_OPINION_OUTPUT": "2",
            "HOSTED_VLLM_API_KEY": "secret-of-the-partner",
            "ENTROPY_SENTINEL_CACHE": str(tmp_path / "cache"),
        }
        done = run_on(forks, tmp_path, weekday=2, **opinion)
    n_asked = len(api.requests)
    assert pl.read_csv(tmp_path / "ask.csv").rows() == [("shop", "drop")]
    assert 30 <= n_asked <= 60
    [alert] = [line for line in done.stdout.splitlines() if line.startswith("ALERT shop")]
    assert "second opinion of hosted_vllm/big: agrees with 0.00 of" in alert
    assert ": cannot tell (new, since" in alert
    assert done.returncode == 4
    assert "secret-of-the-partner" not in done.stdout + done.stderr


def answer(address: str) -> Any:
    """What Prometheus answers."""
    with urlopen(f"http://{address}") as reply:
        return json.load(reply)["data"]


def waited(address: str, wanted: Any) -> Any:
    """What Prometheus answers once `wanted` is true of it."""
    last: Any = None
    for _ in range(10 * WAIT_S):
        try:
            if wanted(last := answer(address)):
                return last
        except URLError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{address} still answers {last}")


@pytest.fixture(scope="module")
def prometheus(watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that has the rules and has scraped the metrics from a node exporter."""
    programs = [find_program(name, name) for name in ("prometheus", "prometheus-node-exporter")]
    folder, address, exporter = tmp_path_factory.mktemp("prometheus"), *(f"127.0.0.1:{free_port()}" for _ in range(2))
    config = {**SCRAPES, "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": [exporter]}]}]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    collect = ["--collector.disable-defaults", "--collector.textfile"]
    collect += [f"--collector.textfile.directory={watched}/metrics", f"--web.listen-address={exporter}"]
    serve = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    serve += [f"--web.listen-address={address}"]
    with (
        serving([programs[1], *collect], folder / "exporter.log", f"http://{exporter}/metrics"),
        serving([programs[0], *serve], folder / "prometheus.log", f"http://{address}/-/ready"),
    ):
        waited(f"{address}/api/v1/query?query=entropy_sentinel_slices", lambda data: data["result"])
        yield address


def test_the_rules_fire_when_they_should() -> None:
    command = [find_program("promtool", "prometheus"), "test", "rules", "alerts.test.yml"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    tests = yaml.safe_load((FOLDER / "alerts.test.yml").read_text())["tests"]
    expected = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert expected == {rule["alert"] for rule in rules}


@pytest.mark.long
def test_prometheus_evaluates_the_rules_on_the_demos_metrics(prometheus: str) -> None:
    def evaluated(data: Any) -> bool:
        return all(rule["health"] != "unknown" for group in data["groups"] for rule in group["rules"])

    (group,) = waited(f"{prometheus}/api/v1/rules", evaluated)["groups"]
    assert {rule["name"]: rule["health"] for rule in group["rules"] if rule["health"] != "ok"} == {}

    def fallen(data: Any) -> list[tuple[str, str]]:
        labels = [alert["labels"] for alert in data["alerts"] if alert["state"] == "firing"]
        return [(of["kind"], of["metadata_route"]) for of in labels if of["alertname"] == "AccuracyOfSlice"]

    # demo/README.md: the questions of `shop` get harder in the second week.
    assert fallen(waited(f"{prometheus}/api/v1/alerts", fallen)) == [("drop", "shop")]


def expressions() -> list[str]:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_query_of_the_dashboard_has_an_answer(prometheus: str) -> None:
    answers = {query: answer(f"{prometheus}/api/v1/query?query={quote(query)}")["result"] for query in expressions()}
    # The demo's monitor has no labels (tests/monitor/test_outputs.py has).
    assert [query for query, samples in answers.items() if not samples] == ["entropy_sentinel_labelled_accuracy"]
    assert float(answers["entropy_sentinel_slices"][0]["value"][1]) == len(answers["entropy_sentinel_change"])


def test_the_dashboard_has_the_structure_that_grafana_reads() -> None:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(numbers)) == len(numbers)
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24  # columns of Grafana's grid
    (variable,) = dashboard["templating"]["list"]
    sources = {panel["datasource"]["uid"] for panel in dashboard["panels"]}
    assert sources == {f"${{{variable['name']}}}"}


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for name in ("entropy-sentinel.service", "entropy-sentinel.timer"):
        text = (FOLDER / name).read_text().replace("/srv/entropy-sentinel/watch.sh", str(FOLDER / "watch.sh"))
        (tmp_path / name).write_text(text)
    command = [find_program("systemd-analyze", "systemd"), "verify", *tmp_path.iterdir()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    service = (FOLDER / "entropy-sentinel.service").read_text()
    assert "\nSuccessExitStatus=4\n" in service


@pytest.mark.long
def test_the_line_for_cron_runs_the_script(watched: Path, tmp_path: Path) -> None:
    (line,) = [line for line in (FOLDER / "crontab").read_text().splitlines() if not line.startswith("#")]
    *when, user, command = line.split(maxsplit=6)
    assert (when, user) == (["0", "2", "*", "*", "*"], "entropy-sentinel")
    assert "%" not in command  # cron would cut it there
    logger = tmp_path / "logger"
    logger.write_text(f"#!/bin/sh\ncat > {tmp_path}/journal\n")
    logger.chmod(0o755)
    command = command.replace("/srv/entropy-sentinel", str(watched)).replace("./watch.sh", str(FOLDER / "watch.sh"))
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", command], check=True, env={**os.environ, "PATH": path})
    assert "read now: 0" in (tmp_path / "journal").read_text()
