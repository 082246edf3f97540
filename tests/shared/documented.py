"""The commands that the documentation shows, and a folder in which they can be run."""

import gzip
import json
import re
import shutil
from pathlib import Path

import polars as pl
import yaml
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.api.response_reading import write_features
from entropy_sentinel.core.analysis import load_sections
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from write_weeks import SHOWN
from write_weeks import write as write_weeks

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "monitor.md"


def _is_installed(page: Path) -> bool:
    """Whether the analysis that a page is of, as its first line may say, is there."""
    named = re.match(r"<!-- of the analysis (\w+) -->", page.read_text())
    return not named or named[1] in load_sections()


_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "demo").glob("*.md"))]
DOCUMENTS = [page for page in _PAGES if _is_installed(page)]
_COMMAND = "entropy-sentinel "


def blocks(document: Path, language: str) -> list[str]:
    """The blocks of a document in a language; `sh` are those that can be pasted one after the other."""
    result = re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [block for named, block in result if named == language]


def shown_commands(document: Path) -> list[str]:
    """The lines that call the command in blocks that are no script, each put together from its parts."""
    lines = [line for block in blocks(document, "") for line in block.replace("\\\n", " ").splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith(_COMMAND)]


def named_commands(document: Path) -> list[str]:
    """The commands that a document names in a sentence; they may have placeholders in capitals."""
    spans = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL))
    spans = [" ".join(one.split()) for one in spans]
    return [one for one in spans if one.startswith(_COMMAND)]


def has_placeholder(command: str) -> bool:
    """Whether a command is to be filled in before it can be run."""
    return any(re.fullmatch(r"\[?[A-Z]{2,}\]?", word) for word in command.split())


def make_folder(folder: Path) -> None:
    """Put what the commands name into a folder: demo, examples, logs under several names, a study with results."""
    for room in ("demo", "examples"):
        (folder / room).symlink_to(ROOT / room)
    write_weeks(folder / "app", SHOWN)
    _make_witnesses(folder)
    shutil.copy(ROOT / "config.yaml", folder)
    shutil.copytree(ROOT / "demo" / "logs", folder / "logs")
    shutil.copy(ROOT / "demo" / "logs" / "week-1.jsonl.gz", folder)
    (folder / "log.jsonl").write_bytes(gzip.decompress((folder / "week-1.jsonl.gz").read_bytes()))
    shutil.copy(ROOT / "demo" / "truth" / "logs.csv", folder / "labels.csv")
    _make_two_models(folder)
    _make_questions(folder)
    _make_study(folder)
    _make_rates(folder / "results" / "bench-gpu" / "rates.yaml")


def _make_rates(path: Path) -> None:
    """Speeds of a model, as the benchmark on a GPU writes them."""
    path.parent.mkdir(parents=True)
    path.write_text("models: {qwen3-4b: {rates: {tokens_per_s: 5000, source: 'a GPU, made-up weights'}}}\n")


def _make_witnesses(folder: Path) -> None:
    """Labels by people under two names, a judge's verdicts and a second opinion, of all responses that have a label."""
    labels = pl.read_csv(folder / "app" / "labels.csv").with_columns(weight=1.0)
    for name in ("people", "labelled"):
        labels.write_csv(folder / f"{name}.csv")
    # A judge, and another model, that are wrong about every tenth response.
    judged = labels.with_columns(pl.col("label") ^ (pl.int_range(pl.len()) % 10 == 0), judge=pl.lit("a model"))
    judged.write_csv(folder / "verdicts.csv")
    opinions = judged.with_columns(witness=pl.lit("second-opinion"), answer=pl.lit("4"), comparable=True)
    opinions.write_csv(folder / "opinions.csv")


def _make_two_models(folder: Path) -> None:
    """Estimators of two models, and logs of both; the second is the first under another name."""
    labels = es.read_labels(folder / "labels.csv")
    (folder / "both" / "logs").mkdir(parents=True)
    for name in ("small", "large"):
        features = es.read_features(folder / "log.jsonl").with_columns(model=pl.lit(name))
        write_features(features, folder / "both" / "logs" / f"{name}.parquet")
        es.save(es.fit(features, labels, "atc-nll_sum", domain="metadata.route"), folder / f"{name}.estimator")


def _make_questions(folder: Path) -> None:
    """Files of questions, a corpus with their answers, and weights."""
    rows = pl.DataFrame({"question": ["What is 1 + 1?"], "answer": ["2"]})
    (folder / "rows").mkdir()
    rows.write_ndjson(folder / "rows" / "arithmetic.jsonl")
    rows.write_csv(folder / "rows" / "physics.csv")
    rows.write_parquet(folder / "rows" / "traffic.parquet")
    row = {"question": "What does a fire need?", "keywords": ["fire"], "answers": ["heat", "fuel"]}
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("A fire needs heat.\n\nA fire needs fuel.\n")
    (folder / "path" / "to").mkdir(parents=True)
    (folder / "path" / "to" / "weights").symlink_to(ROOT / "demo" / "models" / "tiny-1m")


def _make_study(folder: Path) -> None:
    """`my.yaml`, and results of it and of the demo, made of the package's example."""
    labels, names = es.read_labels(TINY.labels), []
    for study in ("demo", "mine"):
        names = [_make_results(folder / "results" / study, path, labels) for path in TINY.traces.iterdir()]
    over = {
        "study": "mine",
        "run": {
            **{"models": ["tiny-1m"], "benchmarks": sorted(names), "judges": ["math-verify"]},
            **{"groups": [], "sizes": [{"size": 1}]},
        },
        "models": {"tiny-1m": {"id": "x/y"}},
        "benchmarks": {name: {"dataset": "x/y", "question": ["{q}"], "reference": ["{r}"]} for name in names},
    }
    (folder / "my.yaml").write_text(yaml.safe_dump(over))


def _make_results(results: Path, traces: Path, labels: pl.DataFrame) -> str:
    """Traces, items and labels of one benchmark; that of the example which the demo has no more is `percentages`."""
    name = {"multiply-then-add": "percentages"}.get(traces.stem, traces.stem)
    rows, about = pl.read_parquet(traces), read_provenance(traces) | {"benchmark": name}
    GENERATIONS.write(GENERATIONS.frame(rows.to_dicts()), results / f"generations/tiny-1m/{name}.parquet", about)
    ids = rows["item_id"].to_list()
    items = BENCHMARKS.frame({"item_id": ids, "question": "?", "reference": "1", "duplicate_of": ids})
    BENCHMARKS.write(items, results / f"benchmarks/{name}.parquet", {})
    here = rows.select("item_id", "sample").join(labels.select("item_id", "label"), on="item_id", maintain_order="left")
    columns = here.to_dict(as_series=False) | {"reason": [None] * len(here), "answer": [None] * len(here)}
    missing = {one: [None] * len(here) for one in LABELS.schema if one not in columns}
    LABELS.write(
        LABELS.frame(columns | missing), results / f"labels/math-verify/tiny-1m/{name}.parquet", {"model": "tiny-1m"}
    )
    return name
