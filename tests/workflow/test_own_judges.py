"""A study whose benchmarks have judges of their own: who labels what, served judges among them, to the report."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from workflow_runs import Project

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.schemas.label_schema import LABELS

OWN = {
    "study": "own",
    "run": {
        "models": ["tiny-1m"],
        "benchmarks": ["averages", "percentages", "mixed"],
        "groups": [],
        "sizes": [{"size": 1}],
    },
    "benchmarks": {"averages": {"judge": "choice", "options": ["answer", "question"], "reference_is": "text"}},
}
LETTERS = "letters"  # the benchmark with a judge of its own
NUMBERS = ("averages", "percentages", "remainders")
ITEMS = 40
RUN = {
    "study": "own",
    "limit": ITEMS,
    "run": {
        "models": ["theirs"],
        "judges": ["math-verify", "tiny-judge"],
        "benchmarks": [LETTERS, *NUMBERS],
        "groups": [],
        "sizes": [{"size": 1, "configurations": "default"}],
        "analyses": ["accuracy", "agreement"],
    },
    "models": {"theirs": {"source": "given", "source_logprobs_mode": "raw_logprobs"}},
    "benchmarks": {
        LETTERS: {"path": "letters.jsonl", "question": ["{question}"], "reference": ["{answer}"], "judge": "choice"}
    },
    "analyses": {
        "accuracy": {
            "judges": ["math-verify", "tiny-judge"],
            **{"tables": ["validation", "estimates"], "figures": ["validation"], "headline_group": None},
            **{"auroc_models": [], "auroc_benchmarks": [], "figure_benchmark": None},
        },
        "agreement": {"headline_group": None},
    },
    "estimation": {"keep": [], "estimators": ["recommended", "group-accuracy", "atc-max"], "groups_per_job": 4},
}


@pytest.mark.slow
def test_a_served_judge_labels_what_has_no_judge_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(OWN))
    project = Project(tmp_path, ["demo/config.yaml", "own.yaml"])
    counts = project.planned("--config", "limit=20", "--quiet", "rules")
    # Of math-verify all three, and of tiny-judge the one that has another judge; the other two are one job's.
    assert (counts["label"], counts["label_served"]) == (4, 1)
    alike = OWN | {"benchmarks": {name: {"judge": "choice"} for name in OWN["run"]["benchmarks"]}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(alike))
    counts = project.planned("--config", "limit=20", "--quiet", "rules")
    # All labels are alike: judges are not compared, and tiny-judge starts no server.
    assert counts["label"] == 3
    assert not counts.keys() & {"label_served", "agreement_report"}


def write_responses(folder: Path) -> dict[str, bool]:
    """Questions with lettered options, and responses to them and to the demo's; returns which ones are right, by item.

    Right responses are more certain.
    """
    random, right = np.random.default_rng(5), dict[str, bool]()
    rows = [{"question": f"Item {n}?\nA) 1\nB) 2\nC) 3", "answer": "ABC"[n % 3]} for n in range(ITEMS)]
    pl.DataFrame(rows).write_ndjson(folder / "letters.jsonl")
    (folder / "given").mkdir()
    for number, name in enumerate((LETTERS, *NUMBERS)):
        path = folder / "letters.jsonl" if name == LETTERS else folder / "demo" / "benchmarks" / f"{name}.jsonl"
        answers = pl.read_ndjson(path)["answer"].cast(pl.String).to_list()
        labels = (random.random(len(answers)) < 0.3 + 0.15 * number).tolist()
        ids = [f"{name}-{row:05d}" for row in range(len(answers))]
        right |= dict(zip(ids, labels, strict=True))
        wrong = "D" if name == LETTERS else "987654321"
        said = [answer if is_right else wrong for answer, is_right in zip(answers, labels, strict=True)]
        logits = random.normal(size=(len(ids), 8, TOP_K)) * np.where(labels, 6, 2)[:, None, None]
        top = -np.sort(-(logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))), axis=2)
        columns = {"item_id": ids, "text": [f"The answer is \\boxed{{{answer}}}." for answer in said]}
        columns |= {"finish_reason": ["stop"] * len(ids)}
        columns |= {"token_logprobs": top[:, :, 0].tolist(), "top_logprobs": top.tolist()}
        pl.DataFrame(columns).write_parquet(folder / "given" / f"{name}.parquet")
    return right


@pytest.mark.long
@pytest.mark.nightly
def test_a_study_with_two_judges_and_a_benchmark_with_its_own_runs_to_the_report(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "own.yaml"])
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(RUN))
    right = write_responses(tmp_path)
    project.run()
    results = tmp_path / "results" / "own"

    def file(judge: str, benchmark: str) -> Path:
        return results / "labels" / judge / "theirs" / f"{benchmark}.parquet"

    for judge in RUN["run"]["judges"]:
        facts = read_provenance(file(judge, LETTERS))
        assert (facts["judge"], facts["labelled_by"], facts["kind"]) == (judge, "choice", "choice")
        others = [read_provenance(file(judge, name)) for name in NUMBERS]
        assert [(facts["judge"], facts.get("labelled_by")) for facts in others] == [(judge, None)] * 3
    by_rules = [file("math-verify", name) for name in (LETTERS, *NUMBERS)]
    for path in [*by_rules, file("tiny-judge", LETTERS)]:
        labels = dict(LABELS.read(path, ["item_id", "label"]).rows())
        assert len(labels) > 5  # items with the same question are left out
        assert labels == {item: right[item] for item in labels}, path
    for judge in RUN["run"]["judges"]:
        assert LETTERS in (results / judge / "report.html").read_text()
    assert "choice" in (results / "agreement" / "report.html").read_text()
    assert project.planned() == {}
