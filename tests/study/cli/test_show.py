"""`entropy-sentinel show` in the folder of a study."""

from pathlib import Path

import pytest
import yaml
from calling import run
from study_trees import small_study

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models on gsm8k and svamp; qwen3-4b has answered one item of gsm8k, and nobody has judged it."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(yaml.safe_dump(small_study()))
    results = tmp_path / "results/paper"
    for folder in ("benchmarks", "generations/qwen3-4b"):
        (results / folder).mkdir(parents=True)
    ids = ["gsm8k-00003"]
    items = BENCHMARKS.frame({"item_id": ids, "question": "How many eggs?", "reference": "18", "duplicate_of": ids})
    BENCHMARKS.write(items, results / "benchmarks/gsm8k.parquet", {})
    steps = [[-0.5, *[-9999.0] * 19], [0.0, *[-9999.0] * 19]]
    row = ("gsm8k-00003", 0, 1, 0, "0", 9, 2, "length", "18 eggs", 0, None, [7, 8], [-0.5, 0.0], steps, None, None, 0)
    about = {"model": "qwen3-4b", "benchmark": "gsm8k", "weights": "nobody/nothing", "commit": "0" * 40}
    GENERATIONS.write(GENERATIONS.frame([row]), results / "generations/qwen3-4b/gsm8k.parquet", about)
    return tmp_path


def test_a_response_is_shown_before_it_is_judged(capsys: pytest.CaptureFixture) -> None:
    status, text, _ = run(capsys, "show", "qwen3-4b", "gsm8k", "gsm8k-00003", "--tokens", 1, "--by", "surprise")
    assert status == 0
    assert "gsm8k-00003, sample 0: no label (not judged)" in text
    assert "There is no P(correct)" in text
    assert "2 tokens, ended by length" in text
    assert "How many eggs?" in text
    assert "shown by their position: there is no tokenizer.json for nobody/nothing" in text
    # exp(-0.5) = 60.7 %, and 0.5 x 0.607 nats of entropy.
    assert text.splitlines()[-2].split()[:5] == ["1", "-", "60.7%", "0.30", "0.50"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["qwen", "gsm8k"], "'qwen' is not in run.models: qwen3-4b, qwen3-8b"),
        (["qwen3-4b", "math"], "'math' is not in run.benchmarks: gsm8k, svamp"),
        (["qwen3-4b", "gsm8k", "--judge", "me"], "'me' is not in run.judges: math-verify"),
        (["qwen3-8b", "gsm8k", "gsm8k-00003"], "generations/qwen3-8b/gsm8k.parquet: does not exist; "),
        (["qwen3-4b", "gsm8k", "gsm8k-00003", "--sample", "2"], "has no response to item 'gsm8k-00003', sample 2"),
        (["qwen3-4b", "gsm8k"], "observations/math-verify/qwen3-4b.parquet: does not exist yet; name an item"),
    ],
)
def test_errors_list_what_exists(arguments: list[str], error: str, capsys: pytest.CaptureFixture) -> None:
    status, _, errors = run(capsys, "show", *arguments)
    assert (status, error in errors) == (1, True)


@pytest.mark.parametrize("command", [("show", "tiny-1m", "averages"), ("audit",), ("audit", "report")])
def test_for_a_study_without_results_it_names_studies_with_results(
    study: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture
) -> None:
    """What people meet after `make demo`: the folder's config.yaml is another study."""
    (study / "results/paper").rename(study / "results/demo")
    status, _, message = run(capsys, *command)
    assert status == 1
    assert all(fact in message for fact in ("results/paper", "results of demo", "-c demo/config.yaml"))
