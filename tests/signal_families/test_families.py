"""Families of signals in a copy of the project: what they need, who is left out, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from workflow_runs import ROOT, Project, job_counts

pytestmark = pytest.mark.slow

DECLARATION = """
def signals():
    from mine.{name}.family import FAMILY

    return {{"{name}": FAMILY}}
"""
FAMILY = """
import polars as pl

from entropy_sentinel.schemas.signal_schema import Family, Signal


def compute(traces: pl.LazyFrame, times: float = 1, benchmark: str = "") -> pl.DataFrame:
    times *= pl.read_parquet(benchmark)["question"].n_unique() if benchmark else 1
    return traces.select({columns}, more=pl.lit("beside")).collect()


FAMILY = Family("made up", ({signals},), compute=compute{more})
"""
# The rule of a family that needs more than traces.
RULES = """
use rule cpu_job as signals_area with:
    input:
        generations=GENERATIONS,
        benchmark=ITEMS,
    output:
        expand(SIGNALS, family="area", allow_missing=True),
    log:
        f"{LOGS}/signals/area/{{model}}/{{benchmark}}.log",
    resources:
        gpu=1,
    params:
        **calls("study.stages.signal_stage.write_signals", module_of("area")),
        family="area",
        settings={"times": 3},
"""


def add_family(folder: Path, name: str, more: str = "", **columns: str) -> Path:
    """A family of the extension `mine` whose signals are Polars expressions by name; its folder."""
    room = folder / "mine" / name
    room.mkdir(parents=True)
    (folder / "mine" / "__init__.py").touch()
    (room / "__init__.py").write_text(DECLARATION.format(name=name))
    signals = ", ".join(f'Signal("{one}", "{one.title()}", "made up", "1", share=True)' for one in columns)
    of_columns = ", ".join(f"{one}={expression}" for one, expression in columns.items())
    (room / "family.py").write_text(FAMILY.format(signals=signals, more=more, columns=of_columns))
    return room


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project with three families."""
    result = Project(tmp_path_factory.mktemp("families"), ["demo/config.yaml", "mine.yaml"])
    short = 'pl.when(pl.col("sample") == 0).then(pl.col("n_tokens") / 128)'
    add_family(result.folder, "short", short=short)
    add_family(result.folder, "around", more=", per_item=True", around='pl.col("n_tokens").mean()')
    (add_family(result.folder, "area", area='times * pl.col("n_tokens")') / "rules.smk").write_text(RULES)
    return result


def called(project: Project, code: str) -> Any:
    """What a Python of the copy prints, read as JSON."""
    environment = os.environ | {
        "PYTHONPATH": str(project.folder / "workflow") + f":{ROOT / 'tests' / 'shared'}",
        "ENTROPY_SENTINEL_EXTENSIONS": str(project.folder / "mine"),
    }
    call = [sys.executable, "-W", "error", "-c", f"import json\n{code}"]
    done = subprocess.run(call, cwd=project.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def planned(project: Project, **run: Any) -> subprocess.CompletedProcess[str]:
    """The plan of a study over the demo's."""
    study = {"study": "mine", "extensions": ["mine"], "run": run.pop("run"), "estimation": run}
    (project.folder / "mine.yaml").write_text(yaml.safe_dump(study))
    process = project.start("--dry-run")
    output, _ = process.communicate(timeout=300)
    return subprocess.CompletedProcess([], process.returncode, output)


def test_a_study_makes_the_families_that_it_names(project: Project) -> None:
    run = {"features": ["tokens", "area", "short"], "models": ["tiny-1m"]}
    done = planned(project, run=run, estimators=["atc-area", "doc-short"], keep=["own"])
    assert done.returncode == 0, done.stdout
    counts = job_counts(done.stdout)
    assert counts["signals_area"] == counts["signals_short"] == counts["feature"]
    code = """
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.planning.file_plan import plan_files

files = plan_files(load_config(read_config(["config.yaml", "demo/config.yaml", "mine.yaml"])))
observed = next(iter(files.stages["observations"].values()))
print(json.dumps([len(files.stages["signals"]), sum("/signals/" in str(one) for one in observed)]))
"""
    assert called(project, code) == [2 * counts["feature"], 2 * counts["feature"]]
    without = planned(project, run=run | {"features": ["tokens"]}, keep=["own"])
    assert without.returncode == 0, without.stdout
    assert not [rule for rule in job_counts(without.stdout) if rule.startswith("signals")]


def test_a_family_with_rules_of_its_own_is_made_by_them(project: Project) -> None:
    traces = project.folder / "tests" / "data" / "tiny" / "traces" / "averages.parquet"
    (project.folder / "traces").mkdir()
    pl.read_parquet(traces).write_parquet(project.folder / "traces" / "averages.parquet")
    run = {
        "features": ["tokens", "area"],
        "models": ["elsewhere"],
        "benchmarks": ["averages"],
        "groups": [],
        "sizes": [],
    }
    models = {"elsewhere": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}}
    study = {"study": "mine", "extensions": ["mine"], "run": run | {"analyses": ["responses"]}, "models": models}
    (project.folder / "mine.yaml").write_text(yaml.safe_dump(study))
    made = "results/mine/signals/area/elsewhere/averages.parquet"
    project.run(made)
    n_questions = pl.read_parquet(project.folder / "results/mine/benchmarks/averages.parquet")["question"].n_unique()
    result = pl.read_parquet(project.folder / made)
    assert result["area"].to_list() == [3 * n_questions * n for n in pl.read_parquet(traces)["n_tokens"]]


REFUSED: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "family": (
        ["tokens", "none"],
        {},
        "run: unknown family in features: 'none'; known: tokens, area, around, ",
    ),
    "tokens": (["area"], {}, "run: features: must have 'tokens', got area"),
    "signal": (
        ["tokens", "area"],
        {"estimators": ["atc-area", "doc-baseline-short"]},
        "estimation.estimators: 'doc-baseline-short' needs the signal 'short' of the family 'short', which "
        "run.features does not name; add it there",
    ),
    "kept": (["tokens"], {"keep": ["own", "atc-area"]}, "estimation.keep: 'atc-area' needs the signal 'area' of"),
    "unknown": (["tokens"], {"estimators": ["atc-nothing"]}, "unknown estimator in estimators: 'atc-nothing'; known: "),
}


@pytest.fixture(scope="module")
def refusals(project: Project) -> dict[str, str]:
    """The errors of all studies that are refused, from one process."""
    studies = {
        name: {"run": {"features": features}, "estimation": keys} for name, (features, keys, _) in REFUSED.items()
    }
    code = f"""
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import merge_sections

errors = {{}}
for name, study in {studies!r}.items():
    try:
        load_config(merge_sections(read_config(["config.yaml"]), study))
    except ConfigError as error:
        errors[name] = str(error)
print(json.dumps(errors))
"""
    found: dict[str, str] = called(project, code)
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_planning_refuses_what_no_family_of_the_study_makes(refusals: dict[str, str], name: str) -> None:
    assert REFUSED[name][2] in refusals[name]


def test_a_null_leaves_a_row_out_for_the_estimators_that_need_the_signal(project: Project) -> None:
    code = """
import polars as pl
from observations import SETTINGS, observations
from entropy_sentinel.study.stages.estimate_stage import estimate_group

frame = pl.concat([observations(name) for name in "abc"])
values = pl.col("max") * 2
# Not known of every third response to c, and no number for another third of them.
third = pl.int_range(pl.len()) % 3
lost = (pl.col("benchmark") == "c") & (third == 0)
broken = (pl.col("benchmark") == "c") & (third == 1)
known = frame.with_columns(short=pl.when(lost).then(None).when(broken).then(float("nan")).otherwise(values))
names = ["baseline-short", "baseline-max", "doc-baseline-short"]
found = estimate_group(known, "a+b", SETTINGS | {"estimators": names})
before = estimate_group(frame, "a+b", SETTINGS | {"estimators": ["baseline-max"]})
kept = known.filter(pl.col("short").is_finite())
expected = estimate_group(kept.drop("short"), "a+b", SETTINGS | {"estimators": ["baseline-max"]})
print(json.dumps({
    "order": found["estimator"].unique(maintain_order=True).to_list(),
    "same": found.filter(estimator="baseline-max").equals(before),
    "counts": found.filter(benchmark="c").select("estimator", "n_rows", "n_excluded", "n_labelled").rows(),
    "found": found.filter(estimator="baseline-short", benchmark="c")["estimated_accuracy"][0],
    "expected": expected.filter(benchmark="c")["estimated_accuracy"][0],
    "true": [found.filter(estimator="baseline-short", benchmark="c")["true_accuracy"][0],
             kept.filter(benchmark="c")["label"].mean()],
}))
"""
    result = called(project, code)
    assert result["order"] == ["baseline-short", "baseline-max", "doc-baseline-short"]
    assert result["same"], "an estimator of features alone must not move"
    assert result["counts"] == [
        ["baseline-short", 20, 40, 20],
        ["baseline-max", 60, 0, 60],
        ["doc-baseline-short", 20, 40, 20],
    ]
    # Twice `max` has the z-scores of `max`: the same regression, on the rows that are left.
    assert result["found"] == pytest.approx(result["expected"], abs=1e-12)
    assert result["true"][0] == result["true"][1]


def test_observations_have_what_the_files_of_families_have(project: Project, tmp_path: Path) -> None:
    code = f"""
import polars as pl
from tiny import TINY
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS, read_observations, read_families
from entropy_sentinel.study.stages.feature_stage import write_features
from entropy_sentinel.study.stages.observation_stage import write_observations
from entropy_sentinel.study.stages.signal_stage import write_signals
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.label_schema import LABELS

traces, folder = TINY.traces / "averages.parquet", {str(tmp_path)!r}
rows = pl.read_parquet(traces)
ids = rows["item_id"].to_list()
items = {{"item_id": ids, "question": "?", "reference": "1", "duplicate_of": ids}}
BENCHMARKS.write(BENCHMARKS.frame(items), f"{{folder}}/items.parquet", {{}})
labels = {{name: [None] * len(rows) for name in LABELS.schema}}
labels |= {{"item_id": ids, "sample": [0] * len(rows), "label": [True] * len(rows)}}
LABELS.write(LABELS.frame(labels), f"{{folder}}/labels.parquet", {{}})
write_features(traces, {{"trace_after": None, "vocabulary": None}}, f"{{folder}}/features.parquet")
write_signals("area", str(traces), f"{{folder}}/area.parquet", {{"times": 3}}, benchmark=f"{{folder}}/items.parquet")
write_signals("short", str(traces), f"{{folder}}/short.parquet")
given = [[f"{{folder}}/{{name}}.parquet"] for name in ("items", "labels", "features")]
split = {{"test_share": 0.2, "seed": 1}}
write_observations(*given, split, f"{{folder}}/alone.parquet")
both = [f"{{folder}}/{{name}}.parquet" for name in ("area", "short")]
write_observations(*given, split, f"{{folder}}/both.parquet", both)
found = read_observations(f"{{folder}}/both.parquet")
print(json.dumps({{
    "columns": [one for one in found.columns if one not in OBSERVATIONS.schema],
    "families": read_families(f"{{folder}}/both.parquet"),
    "area": found["area"].to_list(), "short": found["short"].to_list(), "tokens": rows["n_tokens"].to_list(),
    "rest": found.select(OBSERVATIONS.schema.names()).equals(OBSERVATIONS.read(f"{{folder}}/alone.parquet")),
    "features": OBSERVATIONS.read(f"{{folder}}/both.parquet").columns == OBSERVATIONS.schema.names(),
    "about": read_provenance(f"{{folder}}/alone.parquet"),
    "beside": pl.read_parquet(f"{{folder}}/area.parquet").columns,
}}))
"""
    result = called(project, code)
    assert (result["columns"], result["families"]) == (["area", "short"], ["area", "short"])
    assert result["area"] == [3.0 * token for token in result["tokens"]]
    assert result["short"] == [token / 128 for token in result["tokens"]]
    assert result["rest"]
    assert result["features"]
    assert sorted(result["about"]) == ["logprobs", "split", "stage"]
    assert result["beside"] == ["model", "benchmark", "item_id", "sample", "area", "more"]


def test_rejection_compares_on_the_responses_that_have_the_signal(project: Project) -> None:
    code = """
import polars as pl
from observations import SETTINGS, observations
from papers.rejection.evaluated_rows import slice_responses
from entropy_sentinel.estimators.training_rows import fit_estimators
from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.study.stages.estimate_stage import split_by_signals, select_training_rows
from entropy_sentinel.study.stages.estimate_stage import predict_p_correct

frame = pl.concat([observations(name) for name in "ac"])
known = frame.with_columns(short=pl.when(pl.int_range(pl.len()) >= 20).then("max"))  # 20 of a have none
names = ["baseline-short", "baseline-max"]
scores = pl.concat([
    predict_p_correct(fit_estimators(select_training_rows(seen, "a", SETTINGS), some).values(), seen)
    for seen, some in split_by_signals(known, names)
]).with_columns(group=pl.lit("a"))
first = next(iter(slice_responses(known, scores, "a", names)))
try:
    some_scores = scores.filter((pl.col("estimator") != "baseline-max") | (pl.col("p") > 0.5))
    list(slice_responses(known, some_scores, "a", names))
except ContractError as error:
    said = str(error)
print(json.dumps([first.rows["item_id"].to_list(), first.rows.null_count().row(0), said]))
"""
    ids, nulls, said = called(project, code)
    # Every fifth item of 60 is a test item; those below 20 have no signal.
    assert ids == [f"a-{number:05d}" for number in range(20, 60, 5)]
    assert not any(nulls)
    assert "baseline-max" in said
    assert "have no score" in said


VERBS = """
import logging
import entropy_sentinel as es
from tiny import TINY
import polars as pl
from entropy_sentinel.core.errors import InputError

def said(call):
    try:
        call()
        return "nothing"
    except InputError as error:
        return str(error)

traces, labels = es.read_logs(TINY.traces), es.read_labels(TINY.labels)
plain = es.features(traces)
features = es.features(traces, signals=["short"])
fitted = es.fit(features, labels, "baseline-short")
es.save(fitted, "short.estimator")
holes = features.with_columns(short=pl.when(pl.col("benchmark") == "averages").then("short"))
scored = es.score(fitted, holes)
"""


def test_verbs_take_a_signal_and_say_who_has_none(project: Project) -> None:
    code = (
        VERBS
        + """
print(json.dumps({
    "short": [features["short"].to_list(), traces["n_tokens"].to_list()],
    "signals": [fitted.metadata.signals, list(fitted.signals), list(es.load("short.estimator").signals)],
    "statistics": list(fitted.metadata.feature_statistics)[-1],
    "validation": fitted.validation.estimator,
    "missing": [said(lambda: es.fit(plain, labels, "baseline-short")), said(lambda: es.estimate(fitted, plain)),
                said(lambda: es.monitor(fitted, plain))],
    "estimate": es.estimate(fitted, holes)
    .select("benchmark", "n_estimated", "n_excluded")
    .sort("benchmark").rows()[:2],
    "reasons": scored.group_by("reason").len().sort("len").rows(),
    "monitor": es.monitor(fitted, holes).slices.select("n_responses", "n_estimated").rows(),
    "problems": es.monitor(fitted, holes).problems.lines(),
    "same": es.estimate(fitted, features)["estimated_accuracy"].sum()
            - es.estimate(fitted, es.read_features(TINY.traces, signals=["short"]))["estimated_accuracy"].sum(),
    "sample": len(es.sample(fitted, TINY.traces, budget=20).responses),
    "other": es.features(traces, signals=["around", "area"]).select("around", "area").null_count().row(0),
}))
"""
    )
    result = called(project, code)
    assert result["short"][0] == [one / 128 for one in result["short"][1]]
    assert result["signals"] == [{"short": "short"}, ["short"], ["short"]]
    assert (result["statistics"], result["validation"]) == ("short", "baseline-short")
    for line in result["missing"]:
        assert "'short'" in line
    # Three of four domains, of 40 responses each, have no `short`.
    assert result["estimate"] == [["averages", 40, 0], ["multiply-then-add", 0, 40]]
    assert result["reasons"] == [[None, 40], ["no signal 'short'", 120]]
    assert result["monitor"] == [[160, 40]]
    assert "no signal 'short'" in result["problems"][0]
    assert result["same"] == 0
    assert result["sample"] == 20
    # One depends on the other answers to an item, one has rules of its own: neither is made of single traces.
    assert result["other"] == [160, 160]


def test_an_estimator_says_which_family_is_missing(project: Project) -> None:
    called(project, f"{VERBS}\nprint(1)")
    code = """
import entropy_sentinel as es
from tiny import TINY
from entropy_sentinel.core.errors import InputError

try:
    es.load("short.estimator")
except InputError as error:
    print(json.dumps(str(error)))
"""
    room = project.folder / "mine" / "short"
    room.rename(project.folder / "elsewhere")
    try:
        said = called(project, code)
    finally:
        (project.folder / "elsewhere").rename(room)
    assert "needs the signal 'short' of the family 'short', which is not installed here" in said


def test_auroc_is_over_the_responses_that_have_the_signal(project: Project) -> None:
    labels = [True, False, True, False, True, False]
    values = [0.1, 0.9, None, 0.3, 0.4, None]
    code = f"""
import polars as pl
from observations import observations
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import compute_auroc_rows

frame = observations("a").head(6).with_columns(
    label=pl.Series({labels!r}), short=pl.Series({values!r}, dtype=pl.Float64)
)
print(json.dumps([row for row in compute_auroc_rows(frame) if row["feature"] == "short"]))
"""
    (row,) = called(project, code)
    # Of four with the signal, two are wrong: 0.9 and 0.3 against 0.1 and 0.4, three of four pairs in order.
    assert row["auroc"] == pytest.approx(0.75)
    assert (row["n_correct"], row["n_incorrect"]) == (2, 2)
