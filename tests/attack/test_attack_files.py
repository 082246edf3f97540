"""Files of a study that were damaged, swapped or made by something else: `files.yaml`. Read as the jobs read them."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from a_study import JUDGE, MODEL, Study, item_ids, step
from attack_cases import Case, attack

from entropy_sentinel.schemas.contract import PROVENANCE_KEY
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import write_domains, write_sweep
from entropy_sentinel.study.config.group_estimates import estimation_settings, split_settings
from entropy_sentinel.study.jobs.job_inputs import check_inputs
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.study_pace import describe_progress
from entropy_sentinel.study.stages.estimate_stage import write_estimates, write_estimators
from entropy_sentinel.study.stages.observation_stage import write_observations

pytestmark = pytest.mark.slow

N_ITEMS = 60
GROUP = "sums"
# Of a study with two trees, so that an estimate takes no time.
SMALL = {"estimation": {"trees": 2, "max_depth": [2], "min_samples_split": [2], "hidden_layers": [[2]]}}
ESTIMATORS = ("forest-10d-balanced-isotonic", "baseline-se_sum")


def write_given(folder: Path) -> None:
    """Traces and labels of both benchmarks; wrong answers are less certain."""
    right = [number % 3 > 0 for number in range(N_ITEMS)]
    sampled = [-0.5 - number / 50 - (not one) for number, one in enumerate(right)]
    traces = {
        "item_id": item_ids(N_ITEMS),
        "text": ["?"] * N_ITEMS,
        "finish_reason": ["stop"] * N_ITEMS,
        "token_logprobs": [[value] for value in sampled],
        "top_logprobs": [[step(value, rest=value - 4)] for value in sampled],
    }
    for place, columns in {"": traces, f"labels/{MODEL}": {"item_id": traces["item_id"], "label": right}}.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        frame = pl.DataFrame(columns)
        frame.write_parquet(folder / place / "sums.parquet")
        frame.with_columns(pl.col("item_id").str.replace("sums", "more")).write_parquet(folder / place / "more.parquet")


class WholeStudy(Study):
    """A study from items to a sweep; every step reads its inputs as the job's script does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            N_ITEMS,
            run={"models": [MODEL], "benchmarks": ["sums", "more"], "groups": [], "judges": [JUDGE]},
            benchmarks={
                name: {"path": "rows.jsonl", "question": ["{q}"], "reference": ["{a}"]} for name in ("sums", "more")
            },
            **SMALL,
        )
        parent = f"results/attacked/{JUDGE}"
        self.sweep, self.auroc, self.domains = (f"{parent}/{name}.parquet" for name in ("sweep", "auroc", "domains"))
        self.estimates = f"results/attacked/estimates/{JUDGE}/{MODEL}/{GROUP}.parquet"
        self.estimator, self.scores = "kept.estimator", "kept.parquet"

    def make_observations(self) -> None:
        write_observations([self.items], [self.labels], [self.features], split_settings(self.config), self.observations)

    def make_estimates(self) -> None:
        settings = estimation_settings(self.config, ESTIMATORS)
        write_estimates(self.observations, GROUP, settings, self.estimates)

    def make_estimator(self) -> None:
        settings = estimation_settings(self.config, ["baseline-se_sum"])
        write_estimators(self.observations, GROUP, settings, [self.estimator], self.scores)

    def make_sweep(self) -> None:
        write_sweep([self.estimates], [MODEL], [GROUP], self.sweep)

    def make_domains(self) -> None:
        write_domains([self.observations], [MODEL], self.auroc, self.domains)

    def show_progress(self) -> None:
        describe_progress(self.config, plan_files(self.config), time.time())

    # What reads which files.
    READS = {
        "make_generations": ("items",),
        "make_features": ("generations",),
        "make_labels": ("items", "generations"),
        "make_observations": ("items", "labels", "features"),
        "make_estimates": ("observations",),
        "make_estimator": ("observations",),
        "make_domains": ("observations",),
        "make_sweep": ("estimates",),
        "show_progress": (),
    }

    def run(self, step: str) -> None:
        """One step, its inputs checked as in `study.jobs.job_logs.job_log`."""
        check_inputs([getattr(self, name) for name in self.READS[step]])
        getattr(self, step)()


STEPS = [step for step in WholeStudy.READS if step.startswith("make_")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is whole, to be copied and damaged."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_given(folder / "given")
        study = WholeStudy(folder)
        study.make_items()
        for step in STEPS:
            study.run(step)
    return folder


def _rewritten(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path, WholeStudy], None]:
    """Damage to the rows of a file, whose provenance stays."""

    def damage(path: Path, _: WholeStudy) -> None:
        message = pl.read_parquet_metadata(path)[PROVENANCE_KEY]
        change(pl.read_parquet(path)).write_parquet(path, metadata={PROVENANCE_KEY: message})

    return damage


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Path, WholeStudy], None]:
    return lambda path, _: path.write_bytes(change(path.read_bytes())) and None


def _saying(provenance: str | None) -> Callable[[Path, WholeStudy], None]:
    metadata = None if provenance is None else {PROVENANCE_KEY: provenance}
    return lambda path, _: pl.read_parquet(path).write_parquet(path, metadata=metadata)


def _folder(path: Path, _: WholeStudy) -> None:
    path.unlink()
    path.mkdir()


def _link_to_itself(path: Path, _: WholeStudy) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _of_another(name: str) -> Callable[[Path, WholeStudy], None]:
    """As if copied from another place: its provenance, its columns and its item ids are another's."""

    def damage(path: Path, _: WholeStudy) -> None:
        message, frame = json.loads(pl.read_parquet_metadata(path)[PROVENANCE_KEY]), pl.read_parquet(path)
        message |= {name: "another"} if name in message else {}
        if name in frame.columns:
            frame = frame.with_columns(pl.lit("another").alias(name))
        if name == "benchmark":
            frame = frame.with_columns(pl.col("item_id").str.replace("sums", "another"))
        frame.write_parquet(path, metadata={PROVENANCE_KEY: json.dumps(message)})

    return damage


DAMAGES: dict[str, Callable[[Path, WholeStudy], Any]] = {
    "gone": lambda path, _: path.unlink(),
    "empty": _bytes(lambda content: b""),
    "cut in half": _bytes(lambda content: content[: len(content) // 2]),
    "zeros in the middle": _bytes(
        lambda content: content[:60] + bytes(len(content) // 2 - 60) + content[len(content) // 2 :]
    ),
    "a footer too long": _bytes(lambda content: content[:-8] + b"\xff\xff\xff\x7fPAR1"),
    "a folder": _folder,
    "a link to itself": _link_to_itself,
    "the items": lambda path, study: shutil.copy(study.items, path),
    "the sweep": lambda path, study: shutil.copy(study.sweep, path),
    "without provenance": _saying(None),
    "with provenance that is no JSON": _saying("{oops"),
    "with provenance that is a list": _saying("[1]"),
    "without a column": _rewritten(lambda frame: frame.drop(frame.columns[2])),
    "with a column more": _rewritten(lambda frame: frame.with_columns(price=1)),
    "with numbers for text": _rewritten(lambda frame: frame.with_columns(pl.lit(5).alias(frame.columns[0]))),
    "with a row twice": _rewritten(lambda frame: pl.concat([frame, frame.head(1)])),
    **{f"of another {name}": _of_another(name) for name in ("model", "benchmark", "group")},
}


def each() -> Any:
    """Every case once per damage and reader that it names."""
    result = []
    for case in yaml.safe_load((Path(__file__).parent / "files.yaml").read_text()):
        for damage in case["damage"]:
            for reader in case["read_by"]:
                name = f"{case['file']} {damage}, {reader}"
                result.append(pytest.param(case | {"damage": damage, "read_by": reader}, id=name))
    return pytest.mark.parametrize("case", result)


@each()
def test_damaged_file(case: Case, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    study = WholeStudy(tmp_path)
    path = Path(getattr(study, case["file"]))
    DAMAGES[case["damage"]](path, study)
    expect = {key: value.replace("FILE", str(path)) for key, value in case["expect"].items()}
    attack(expect, lambda: study.run(case["read_by"]))
