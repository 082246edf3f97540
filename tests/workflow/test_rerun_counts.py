"""What a change reruns: the jobs of a finished study after it, reasoned from what each rule depends on.

The expected jobs are written down from the rules, before a dry run. The study has two models, four benchmarks and two
judges, of which one labels all benchmarks of a model in one job. docs/reruns.md has the same table in words.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from finished_study import BENCHMARKS, JUDGES, MODELS, finish
from workflow_runs import Project

pytestmark = pytest.mark.slow(minutes=1)

PACKAGE = "workflow/entropy_sentinel"
RESULTS = "results/finished"
Counts = dict[str, int]

M, B, J = len(MODELS), len(BENCHMARKS), len(JUDGES)
ACCURACY_SHOWN = {"accuracy_tables": 1, "accuracy_figures": 1, "accuracy_report": 1}
AGREEMENT_SHOWN = {"agreement_tables": 1, "agreement_report": 1}
REJECTION_SHOWN = {"rejection_tables": 1, "rejection_figures": 1, "rejection_report": 1}
SHOWN = {**ACCURACY_SHOWN, **AGREEMENT_SHOWN, **REJECTION_SHOWN, "responses_page": M}
# What follows from labels, but not from observations: agreement of judges, and the cost of the one behind a server.
COMPARED = {"agreement_pairs": 1, "cost": 1}


def after_observations(models: int, judges: int = J) -> Counts:
    """Jobs that follow from changed observations of so many models under both judges, or under tiny-judge only.

    All analyses but agreement are of the labels of math-verify.
    """
    # The named groups are one batch of estimates; those of one benchmark, another, are only for the sweep.
    fits = dict.fromkeys(["observation", "estimate_0", "estimator_0"], models * judges)
    common = fits | {"agreement_judged": 1} | AGREEMENT_SHOWN
    if judges < J:
        return common
    by_model = ("estimate_1", "accuracy_repeats", "accuracy_validation", "rejection_assessments", "rejection_measures")
    joint = {"accuracy_sweep": 1, "accuracy_domains": 1, **ACCURACY_SHOWN, **REJECTION_SHOWN}
    return common | dict.fromkeys([*by_model, "responses_page"], models) | joint


def after_generations(models: int) -> Counts:
    """Jobs of so many models from their responses to all benchmarks on, and what follows."""
    responses = dict.fromkeys(["generation", "feature", "label"], models * B)
    return responses | {"label_served": models} | COMPARED | after_observations(models)


def after_items(benchmarks: int = 1) -> Counts:
    """Jobs from the items of so many benchmarks on: the served judge labels all benchmarks of a model in one job."""
    responses = dict.fromkeys(["generation", "feature", "label"], M * benchmarks)
    return {"benchmark": benchmarks} | responses | {"label_served": M} | COMPARED | after_observations(M)


FEATURES = {"feature": M * B} | after_observations(M)
EVERYTHING = after_items(B)


@dataclass(frozen=True)
class Change:
    """A change of the config, of texts in files, or by a function that returns what undoes it; the jobs after it."""

    name: str
    expected: Counts
    config: dict[str, Any] = field(default_factory=dict)
    edits: tuple[tuple[str, str, str], ...] = ()
    act: Callable[[Path], Callable[[], object]] | None = None
    nightly: bool = False


def code(name: str, file: str, old: str, new: str, expected: Counts, nightly: bool = False) -> Change:
    return Change(name, expected, edits=((f"{PACKAGE}/{file}", old, new),), nightly=nightly)


def deleted(*names: str) -> Callable[[Path], Callable[[], object]]:
    """Takes files of the results away."""

    def act(folder: Path) -> Callable[[], object]:
        paths = [folder / RESULTS / name for name in names]
        away = [path.rename(folder / f"{number}.away") for number, path in enumerate(paths)]
        return lambda: [file.rename(path) for file, path in zip(away, paths, strict=True)]

    return act


def rows(edit: Callable[[list[dict[str, Any]]], object]) -> Callable[[Path], Callable[[], object]]:
    """Edits the rows of a benchmark."""

    def act(folder: Path) -> Callable[[], object]:
        path = folder / "demo" / "benchmarks" / "averages.jsonl"
        before = path.read_text()
        records = [json.loads(line) for line in before.splitlines()]
        edit(records)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return lambda: path.write_text(before)

    return act


def moved(folder: Path) -> Callable[[], object]:
    """Renames the folder of the results, to a checkout without Snakemake's own records, whose files are all newer."""
    pairs = [(folder / RESULTS, folder / "results" / "renamed"), (folder / ".snakemake", folder / "away")]
    for path, place in pairs:
        path.rename(place)
    touched(folder)

    def undo() -> None:
        shutil.rmtree(folder / ".snakemake")
        for path, place in pairs:
            place.rename(path)

    return undo


def touched(folder: Path) -> Callable[[], object]:
    """Gives new dates to code, configs, benchmarks and weights."""
    for name in ("workflow", "papers", "demo", "config.yaml", "finished.yaml"):
        for path in [folder / name, *(folder / name).rglob("*")]:
            if path.is_file() and not path.is_symlink():
                path.touch()
    return lambda: None


def heavier(folder: Path) -> Callable[[], object]:
    """Other weights of a model."""
    path = folder / "demo" / "models" / "tiny-3m" / "model.safetensors"
    before = path.read_bytes()
    path.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    return lambda: path.write_bytes(before)


def longer(*names: str) -> Callable[[Path], Callable[[], object]]:
    """Adds a line to modules of the package."""

    def act(folder: Path) -> Callable[[], object]:
        before = {folder / PACKAGE / name: (folder / PACKAGE / name).read_text() for name in names}
        for path, text in before.items():
            path.write_text(f"{text}\nADDED = 1\n")
        return lambda: [path.write_text(text) for path, text in before.items()]

    return act


NEW_ROW = {"question": "What is the average of 1 and 3?", "answer": "2"}
REASONED = [
    Change("nothing", {}),
    # Axes of the study.
    Change(
        "a model is added",
        after_generations(1),
        {
            "run": {"models": [*MODELS, "hot"]},
            "models": {"hot": {"extends": "tiny-1m", "sampling": {"temperature": 1}}},
        },
    ),
    Change(
        "a model is removed: what is of several models",
        COMPARED
        | {"accuracy_sweep": 1, "accuracy_domains": 1, "agreement_judged": 1}
        | ACCURACY_SHOWN
        | AGREEMENT_SHOWN
        | REJECTION_SHOWN,
        {"run": {"models": MODELS[:1]}},
    ),
    Change("a benchmark is added", after_items(), {"run": {"benchmarks": [*BENCHMARKS, "remainders"]}}),
    Change(
        "a training group has other benchmarks: its batch and what shows it; each domain is a domain as before",
        dict.fromkeys(["estimate_0", "estimator_0"], M * J)
        | {"accuracy_sweep": 1, "agreement_judged": 1}
        | dict.fromkeys(["accuracy_repeats", "rejection_assessments", "rejection_measures", "responses_page"], M)
        | ACCURACY_SHOWN
        | AGREEMENT_SHOWN
        | REJECTION_SHOWN,
        {"groups": {"extremes": {"benchmarks": ["averages", "one-digit-addition"]}}},
    ),
    Change(
        "models in another order: figures of the first model, and the pages that they are on",
        dict.fromkeys(["accuracy_figures", "accuracy_report", "rejection_figures", "rejection_report"], 1),
        {"run": {"models": MODELS[::-1]}},
    ),
    Change("benchmarks in another order", {}, {"run": {"benchmarks": BENCHMARKS[::-1]}}),
    # Settings.
    Change("temperature of a model", after_generations(1), {"models": {"tiny-3m": {"sampling": {"temperature": 0.9}}}}),
    Change("max_tokens", after_generations(M), {"generation": {"sampling": {"max_tokens": 255}}}),
    Change("a limit below the number of items", EVERYTHING, {"limit": 20}),
    Change("a limit above the number of items", {}, {"limit": 10_000}),
    Change("seed of the estimation", after_observations(M), {"estimation": {"seed": 7}}),
    Change(
        "a judge's prompt: not the other judge",
        {"label_served": M} | COMPARED | after_observations(M, judges=1),
        {"prompts": {"agree": {"user": "Reply: {response}\nReference: {reference}"}}},
    ),
    Change(
        "a judge's temperature",
        {"label_served": M} | COMPARED | after_observations(M, judges=1),
        {"judges": {"tiny-judge": {"temperature": 0.5}}},
        nightly=True,
    ),
    Change(
        "accuracies of the rejection",
        {"rejection_measures": M} | REJECTION_SHOWN,
        {"analyses": {"rejection": {"accuracies": [0.5, 0.9]}}},
    ),
    Change(
        "an estimator more to keep",
        {"estimator_0": M * J, "rejection_measures": M, "responses_page": M} | REJECTION_SHOWN,
        {"estimation": {"keep": ["own", "recommended", "baseline-max"]}},
    ),
    Change(
        "an estimator less to keep",
        {"estimator_0": M * J, "rejection_measures": M, "responses_page": M} | REJECTION_SHOWN,
        {"estimation": {"keep": ["own"]}},
    ),
    Change(
        "trees: what is fitted; domains and what is known of questions stay",
        dict.fromkeys(["estimate_0", "estimator_0"], M * J)
        | dict.fromkeys(["estimate_1", "accuracy_repeats", "accuracy_validation"], M)
        | dict.fromkeys(["rejection_measures", "responses_page"], M)
        | {"accuracy_sweep": 1, "agreement_judged": 1}
        | ACCURACY_SHOWN
        | AGREEMENT_SHOWN
        | REJECTION_SHOWN,
        {"estimation": {"trees": 30}},
    ),
    Change(
        "an estimator more: estimates and validations, nothing that is kept",
        {"estimate_0": M * J, "estimate_1": M, "accuracy_validation": M, "accuracy_sweep": 1, "agreement_judged": 1}
        | ACCURACY_SHOWN
        | AGREEMENT_SHOWN,
        {"estimation": {"estimators": ["group-accuracy", "atc-max"]}},
        nightly=True,
    ),
    Change(
        "a family of signals",
        {"signals_digits": M * B} | after_observations(M),
        {"run": {"features": ["tokens", "digits"]}},
        nightly=True,
    ),
    Change(
        "trace_after of a model: its features",
        {"feature": B} | after_observations(1),
        {"models": {"tiny-3m": {"trace_after": "####"}}},
        nightly=True,
    ),
    Change(
        "the paper's style, with titles of a model and a benchmark",
        {"accuracy_paper": 1},
        {
            "analyses": {"accuracy": {"style": "paper"}},
            "models": {"tiny-1m": {"title": "Tiny"}},
            "benchmarks": {"percentages": {"title": "Per cent"}},
        },
    ),
    Change("title of the study", ACCURACY_SHOWN, {"analyses": {"accuracy": {"labels": {"finished": "A title"}}}}),
    Change(
        "a published number of items",
        {"accuracy_report": 1},
        {"benchmarks": {"percentages": {"expected_items": 9}}},
        nightly=True,
    ),
    Change(
        "threads, idle engines, rates, the command after a run",
        {},
        {
            "generation": {"threads": 2, "engine_idle_s": 9},
            "rates": {"gpu_usd_per_h": 2},
            "after": "true",
        },
    ),
    # Files from outside.
    Change("content of the weights", after_generations(1), act=heavier),
    Change("a reference", after_items(), act=rows(lambda all_rows: all_rows[0].update(answer="1"))),
    Change("a question", after_items(), act=rows(lambda all_rows: all_rows[0].update(question="?")), nightly=True),
    Change("a row at the end", after_items(), act=rows(lambda all_rows: all_rows.append(NEW_ROW)), nightly=True),
    Change("a row at the start", after_items(), act=rows(lambda all_rows: all_rows.insert(0, NEW_ROW)), nightly=True),
    Change("a column", {}, act=rows(lambda all_rows: [row.update(source="a book") for row in all_rows])),
    Change("dates of all inputs, configs, code and weights", {}, act=touched),
    # Results.
    Change("another name of the study: its jobs copy responses and labels", EVERYTHING, {"study": "renamed"}),
    Change(
        "another name of the study and its folder: what shows the name",
        SHOWN,
        {"study": "renamed"},
        act=moved,
    ),
    Change(
        "a temperature after that",
        after_generations(1) | SHOWN,
        {"study": "renamed", "models": {"tiny-3m": {"sampling": {"temperature": 0.9}}}},
        act=moved,
        nightly=True,
    ),
    Change("a report is deleted", {"accuracy_report": 1}, act=deleted("math-verify/report.html")),
    Change(
        "a table is deleted, which is on the report",
        {"accuracy_tables": 1, "accuracy_report": 1},
        act=deleted("math-verify/tables/table_2_by_model.csv"),
    ),
    Change(
        "files between are deleted: nothing needs them",
        {},
        act=deleted(
            "features/tiny-1m/averages.parquet",
            "generations/tiny-3m/percentages.parquet",
            "labels/math-verify/tiny-1m/averages.parquet",
        ),
    ),
    # Code.
    code("features", "features/paper_features.py", "FLAT_STD = 1e-6", "FLAT_STD = 1e-5", FEATURES),
    code(
        "an estimator: all that fits, and what imports estimators' names",
        "estimators/logistic.py",
        "max_iter=1000",
        "max_iter=2000",
        {name: count for name, count in after_observations(M).items() if name != "observation"},
    ),
    code(
        "tables of an analysis: all that it shows",
        "study/analyses/accuracy/tables_by_model.py",
        "0.5 is chance",
        "0.5 is luck",
        ACCURACY_SHOWN,
    ),
    code(
        "the look of figures: all that any analysis shows; a paper's folder has computations beside them",
        "rendering/figure_style.py",
        "#0072B2",
        "#0072B3",
        dict.fromkeys(["rejection_assessments", "rejection_measures", "responses_page"], M)
        | ACCURACY_SHOWN
        | AGREEMENT_SHOWN
        | REJECTION_SHOWN,
    ),
    Change(
        "code that decides no result or has a version: judges, engines, clients, secrets, grouping, monitor",
        {},
        act=longer(
            "judges/math_verify.py",
            "study/engines/vllm_engine.py",
            "llm_client/chat_client.py",
            "core/secrets.py",
            "core/whole_files.py",
            "study/semantic_clustering/semantic_entropy.py",
            "statistics/monitoring/change_points.py",
            "logs/reader_base.py",
            "monitor/event_calendar.py",
            "study/jobs/code_fingerprint.py",
        ),
    ),
    Change(
        "comments and docstrings",
        {},
        edits=(
            (f"{PACKAGE}/features/feature_computation.py", '"""The features of every', '"""What is new in every'),
            (
                f"{PACKAGE}/study/stages/estimate_stage.py",
                'RAW_MODE = "raw_logprobs"',
                '# why\nRAW_MODE = "raw_logprobs"  # because',
            ),
            ("demo/config.yaml", "study: demo", "# A comment.\nstudy: demo"),
        ),
    ),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finish(tmp_path_factory.mktemp("project"))


@pytest.fixture
def change(request: pytest.FixtureRequest, project: Project) -> Iterator[tuple[Change, Project]]:
    """A change, made; it is undone after the test."""
    change: Change = request.param
    undo: list[Callable[[], object]] = []
    try:
        undo += [project.edit(*edit) for edit in change.edits]
        if change.act:
            undo.append(change.act(project.folder))
        (project.folder / "change.yaml").write_text(yaml.safe_dump(change.config))
        yield change, project.over("change.yaml")
    finally:
        for step in reversed(undo):
            step()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.long, pytest.mark.nightly] if one.nightly else [])
        for one in REASONED
    ],
    indirect=True,
)
def test_a_change_reruns_its_consequences_and_nothing_else(change: tuple[Change, Project]) -> None:
    one, project = change
    assert project.planned() == one.expected
