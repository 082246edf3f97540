"""The studies of ambiguity: the paper's is planned on any machine; one of made-up traces runs, without an engine."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
import yaml
from papers.ambiguity.ambiguity_frames import CONCORDANCES, ESTIMATES
from workflow_runs import Project

from entropy_sentinel.study.config.config_loading import load_config, read_config

STUDY = "papers/ambiguity/study.yaml"
N_MODELS = 10
JOBS = {
    **{"benchmark": 3, "generation": 3 * N_MODELS, "ambiguity_aligned": 3 * N_MODELS},
    **{f"pass_{family}": 3 * N_MODELS for family in ("beam_search", "iterative_prompting")},
    **{f"signals_{family}": 3 * N_MODELS for family in ("semantics", "beam_search", "sar", "iterative_prompting")},
    **{"ambiguity_uncertainties": N_MODELS},
    **{f"ambiguity_{rule}": 1 for rule in ("measures", "tables", "figures", "report")},
}
MADE_UP = {
    "study": "made-up",
    "run": {
        **{"models": ["given"], "benchmarks": ["one", "several"], "judges": ["math-verify"]},
        **{"features": ["tokens", "semantics"], "groups": [], "sizes": [], "analyses": ["ambiguity"]},
    },
    "generation": {"samples": 6},
    "models": {"given": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}},
    "benchmarks": {
        name: {"path": f"{name}.jsonl", "question": ["{question}"], "answers": "answers", "counts": "counts"}
        for name in ("one", "several")
    },
    "analyses": {"ambiguity": {"source": "counted", "sources": {"guessed": {"several": "guessed.jsonl"}}}},
}
# Probabilities of the tokens that the model says, the likeliest of twenty.
P = {"ada": 0.5, "bob": 0.25, "cid": 0.125}
N_ITEMS = 12


def write_rows(folder: Path) -> None:
    """The files of MAQA* and AmbigQA*, which planning looks at."""
    (folder / "data").mkdir()
    for name in ("maqa", "ambigqa"):
        (folder / "data" / f"{name}.jsonl").write_text('{"question": "q", "answers": ["a"], "counts": [1]}\n')


def test_the_papers_study_is_what_the_paper_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = read_config(["config.yaml", STUDY])
    write_rows(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = load_config(raw)
    # A chat behind a server.
    assert config.left_out == [
        "run.features: signals of beam_search, iterative_prompting are null for gpt-4.1-mini, since a server does not "
        "return the token ids of a chat's prompt"
    ]
    assert config.generation.samples == 30
    assert (config.signals.semantics.backend, config.signals.beam_search.width) == ("nli", 5)
    assert (config.signals.sar.samples, config.signals.iterative_prompting.samples) == (30, 10)
    base = [name for name in config.run.models if config.find_prompt_name(name) == "few-shot"]
    assert len(base) == 6
    assert not any("nstruct" in name or name.startswith("gpt") for name in base)
    # Four examples, then the question, which has its question mark.
    text = config.generation_prompts["few-shot"].text or ""
    assert text.count("\n\nQ: ") == 4
    assert text.endswith("\n\nQ: {question}\nA:")
    shown = config.analyses.ambiguity
    assert (shown.epsilon, shown.thresholds, shown.gammas) == (0.01, [1.5, 2, 3], [1, 2, 5, 10, 100])
    assert shown.benchmarks == ["triviaqa", "maqa", "ambigqa"]


@pytest.mark.slow
def test_the_papers_study_is_planned_for_a_cluster(tmp_path: Path) -> None:
    project = Project(tmp_path, [STUDY], "profiles/slurm")
    write_rows(tmp_path)
    assert project.planned() == JOBS


def said(item: int, benchmark: str) -> list[str]:
    """Six samples of an item: always the same where the item is even, else several."""
    return ["ada"] * 6 if item % 2 == 0 else ["ada", "ada", "bob", "bob", "cid", "ada"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("ambiguity"), ["made-up.yaml"])
    (project.folder / "made-up.yaml").write_text(yaml.safe_dump(MADE_UP))
    (project.folder / "traces").mkdir()
    for name in ("one", "several"):
        answers = [["ada"]] if name == "one" else [["ada"], ["bob", "Bobby"]]
        rows = [
            # The answer to every third question is none that the model gives.
            {"question": f"{name} {item}?", "answers": [["eve"], *answers[1:]] if item % 3 == 2 else answers}
            | {"counts": [3, 1][: len(answers)]}
            for item in range(N_ITEMS)
        ]
        (project.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        if name == "several":
            guessed = [row | {"counts": [1, 1]} for row in rows[:6]]
            (project.folder / "guessed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in guessed))
        rest = [math.log(0.001)] * 17
        top = [math.log(p) for p in P.values()] + rest
        traces = [
            {"item_id": f"{name}-{item:05}", "sample": sample, "text": text, "finish_reason": "stop"}
            | {"token_logprobs": [math.log(P[text])], "top_logprobs": [top]}
            for item in range(N_ITEMS)
            for sample, text in enumerate(said(item, name))
        ]
        pl.DataFrame(traces).write_parquet(project.folder / "traces" / f"{name}.parquet")
    project.run()
    return project


@pytest.mark.slow
def test_a_study_of_given_traces_runs_and_a_second_run_has_nothing_to_do(project: Project) -> None:
    folder = project.folder / "results" / "made-up" / "ambiguity"
    assert project.planned() == {}
    said = (folder / "summary.txt").read_text()
    assert said.startswith("Does entropy find what the model does not know?")
    assert (folder / "report.html").is_file()
    assert len(list((folder / "figures").glob("*.png"))) == 5
    concordances = CONCORDANCES.read(folder / "concordances.parquet")
    assert set(concordances["source"]) == {"counted", "guessed"}
    reasons = concordances.filter(estimator="msp")["reason"]
    assert set(reasons) == {"run.features has no beam_search"}
    # Another epsilon makes no class again.
    project.edit("made-up.yaml", "source: counted", "epsilon: 0.02\n    source: counted")
    assert set(project.planned()) == {
        f"ambiguity_{one}" for one in ("uncertainties", "measures", "tables", "figures", "report")
    }


@pytest.mark.nightly
@pytest.mark.long(minutes=3)
def test_the_demo_samples_searches_and_asks_again_and_nothing_is_made_twice(tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    project = Project(tmp_path, ["demo/config.yaml", "papers/ambiguity/demo.yaml", "small.yaml"])
    # Each job starts an engine: one benchmark has all of them.
    small = {"limit": 16, "generation": {"samples": 12}, "run": {"benchmarks": ["facts-several"]}}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small))
    project.run()
    assert project.planned() == {}
    estimates = ESTIMATES.read(
        tmp_path / "results" / "demo-ambiguity" / "ambiguity" / "estimators" / "tiny-facts.parquet"
    )
    for name in ("se", "msp", "ip"):
        assert estimates[name].null_count() == 0
        assert (estimates[name] >= 0).all()
