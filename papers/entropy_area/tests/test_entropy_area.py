"""The studies of the entropy area score: the paper's is planned on any machine, the demo's runs."""

import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from papers.entropy_area.area_frames import ANSWER_CLASSES, CORRELATIONS, ITEMS
from workflow_runs import Project

from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS

STUDY = "papers/entropy_area/study.yaml"
# Two models, three benchmarks, of which two are shown as one.
JOBS = {
    **{"benchmark": 3, "generation": 6, "label": 6, "feature": 6, "pass_forced_answer": 6, "entropy_area_answers": 6},
    **{f"entropy_area_{rule}": 2 for rule in ("items", "truncation")},
    **{f"entropy_area_{rule}": 1 for rule in ("measures", "tables", "figures", "report")},
}
SMALL = {
    "limit": 12,
    "run": {"benchmarks": ["averages"]},
    "generation": {"samples": 5},
    "signals": {"forced_answer": {"samples": 2}},
    "analyses": {"entropy_area": {"resamples": 50}},
}


@pytest.mark.slow
def test_the_papers_study_is_planned_for_a_cluster(tmp_path: Path) -> None:
    assert Project(tmp_path, [STUDY], "profiles/slurm").planned() == JOBS


def test_the_papers_study_is_what_the_paper_says() -> None:
    config = load_config(read_config(["config.yaml", STUDY]))
    assert config.left_out == []
    assert config.generation.samples == 64
    # GPQA-Diamond with options A to D, the correct one not always the first; a letter is compared with a letter.
    gpqa = config.benchmarks["gpqa-diamond"]
    assert (len(gpqa.options or []), gpqa.shuffle_options, config.judges[gpqa.judge or ""].kind) == (4, True, "choice")
    assert [config.benchmarks[name].expected_items for name in config.run.benchmarks] == [198, 30, 30]
    # The reasoning is kept: features are over all tokens.
    assert {config.models[name].trace_after for name in config.run.models} == {None}
    assert config.analyses.entropy_area.sets(config.labelled_benchmarks) == {
        "gpqa-diamond": ["gpqa-diamond"],
        "aime": ["aime-2024", "aime-2025"],
    }
    assert config.generation_prompts["reason-then-box"].user.endswith("within \\boxed{}.")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    project = Project(
        tmp_path_factory.mktemp("area"), ["demo/config.yaml", "papers/entropy_area/demo.yaml", "small.yaml"]
    )
    (project.folder / "small.yaml").write_text(yaml.safe_dump(SMALL))
    project.run()
    return project


@pytest.mark.long(minutes=2)
def test_the_demos_study_runs_and_a_second_run_has_nothing_to_do(project: Project) -> None:
    folder = project.folder / "results" / "demo-entropy-area" / "math-verify" / "entropy_area"
    assert project.planned() == {}
    assert (folder / "report.html").is_file()
    assert len(list((folder / "figures").glob("*.png"))) == 3
    items = ITEMS.read(folder / "items" / "tiny-1m.parquet")
    assert (len(items), set(items["n_samples"])) == (12, {5})
    assert "EAS" in (folder / "summary.txt").read_text()
    rows = CORRELATIONS.read(folder / "correlations.parquet").filter(target="answer_entropy", measure="eas_reference")
    assert len(rows) == 1
    assert rows["n_items"].min() > 6


@pytest.mark.long
def test_items_follow_from_the_files_before_them(project: Project) -> None:
    results = project.folder / "results" / "demo-entropy-area"
    folder = results / "math-verify" / "entropy_area"
    labels = pl.read_parquet(results / "labels" / "math-verify" / "tiny-1m" / "averages.parquet")
    classes = ANSWER_CLASSES.read(folder / "answers" / "tiny-1m" / "averages.parquet")
    # Tiny-1m answers with whole numbers alone: the same answer is the same digits.
    digits = [re.sub(r"\D", "", answer or "") or None for answer in labels["answer"]]
    beside = classes.with_columns(digits=pl.Series(digits, dtype=pl.String)).drop_nulls("answer_class")
    by_digits = beside.group_by("item_id").agg(pl.col("digits").n_unique(), pl.col("answer_class").n_unique())
    assert by_digits["digits"].to_list() == by_digits["answer_class"].to_list()
    asked = FORCED_ANSWERS.read(results / "passes" / "forced_answer" / "tiny-1m" / "averages.parquet")
    first = asked.filter(answer="reference", sample=0).select("item_id", pl.col("eas").alias("expected"))
    items = ITEMS.read(folder / "items" / "tiny-1m.parquet").filter(benchmark="averages")
    result = items.join(first, on="item_id", maintain_order="left")
    assert result["eas_reference"].to_list() == result["expected"].to_list()
    # Of five responses to an item two were asked about.
    assert asked.filter(pl.col("sample") >= 2)["eas"].null_count() == 2 * 3 * 12
