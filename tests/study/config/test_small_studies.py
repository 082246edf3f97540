"""A study names what differs and nothing else: the rest follows, what cannot be run is left out with a line."""

import re
from math import comb
from pathlib import Path
from typing import Any

import pytest
import yaml
from studies import PAPER, refusal, study
from workflow_runs import Project, job_counts

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config import generation_requests, label_requests
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.group_estimates import find_report_groups, map_group_files, training_groups
from entropy_sentinel.study.config.study_config import Config

ROOT = Path(__file__).parents[3]
FOUR = {"study": "four", "run": {"models": ["qwen3-4b"], "benchmarks": ["gsm8k", "svamp", "math", "gpqa"]}}


@pytest.fixture
def over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A study of a few lines over the paper's, or over the demo's."""
    monkeypatch.chdir(ROOT)

    def load(differences: dict[str, Any], *below: str) -> Config:
        file = tmp_path / "my.yaml"
        file.write_text(yaml.safe_dump(differences))
        return load_config(read_config(["config.yaml", *below, file]), "my.yaml")

    return load


def sizes(config: Config) -> list[int]:
    return [group.count("+") + 1 for group in training_groups(config)]


def test_four_benchmarks_and_a_model(over: Any) -> None:
    config = over(FOUR)
    # 4 + 6 + 4 subsets of one to three; those of three are also all but one.
    assert [sizes(config).count(k) for k in (1, 2, 3, 4)] == [4, 6, 4, 0]
    expected = [
        "run.groups: extremes .*: olympiadbench",
        "run.groups: intermediate .*: scibench",
        "run.groups: cross-domain .*: matscibench, gsm-symbolic",
        "run.groups: sci-math .*: matscibench",
        "run.sizes: 4 left out .*",
        "analyses.accuracy.main_groups: .*: extremes, intermediate",
        "analyses.accuracy.auroc_models: .*: phi-3.5-mini, ministral-3-8b, gpt-oss-20b",
        "analyses.accuracy.auroc_benchmarks: .*: olympiadbench",
        "run.analyses: rejection left out .*",
    ]
    assert all(re.fullmatch(*pair) for pair in zip(expected, config.left_out, strict=True))
    shown = config.analyses.accuracy
    assert (shown.auroc_models, shown.auroc_benchmarks) == (["qwen3-4b"], ["math", "gsm8k"])
    assert (shown.figure_model, shown.figure_benchmark, shown.headline_group) == ("qwen3-4b", "math", "gpqa")
    assert shown.main_groups == ["gpqa"]
    assert {name: group.group_id for name, group in find_report_groups(config).items()} == {"gpqa": "gpqa"}


def test_keys_outside_the_users_own_files_are_not_reported(over: Any) -> None:
    raw = over(FOUR).model_dump(mode="json", exclude={"run": {"analyses"}, "analyses": True})
    raw["run"] |= {"groups": ["extremes", "intermediate"], "sizes": [{"size": 1}, {"size": 4}]}
    assert load_config(raw, "my.yaml", FOUR).left_out == []
    everything = load_config(raw, "my.yaml").left_out
    for key in ("groups", "sizes"):
        own = FOUR | {"run": FOUR["run"] | {key: raw["run"][key]}}
        message = load_config(raw, "my.yaml", own).left_out
        assert message == [line for line in everything if line.startswith(f"run.{key}:")] != []


def test_adapting_a_study_twice_changes_nothing(over: Any) -> None:
    config = over(FOUR)
    again = load_config(config.model_dump(mode="json"))
    assert again.model_dump() == config.model_dump()
    assert again.left_out == []


@pytest.mark.parametrize("dropped", ["phi-3.5-mini", "qwen3-4b", "gpt-oss-20b"])
def test_a_study_with_one_model_fewer(over: Any, dropped: str) -> None:
    models = [name for name in over({}).run.models if name != dropped]
    config = over({"run": {"models": models}})
    assert config.analyses.accuracy.figure_model == models[0]
    assert dropped not in config.analyses.accuracy.auroc_models


def test_the_order_of_the_groups_does_not_decide_which_are_in_table_2(over: Any) -> None:
    groups = ["sci-math", "intermediate", "cross-domain", "extremes"]
    assert over({"run": {"groups": groups}}).analyses.accuracy.main_groups == ["extremes", "intermediate"]
    assert over({"run": {"groups": groups[:2]}}).analyses.accuracy.main_groups == ["intermediate"]
    assert over({"run": {"groups": groups[::2]}}).analyses.accuracy.main_groups == groups[::2]


def test_a_study_without_a_named_group(over: Any) -> None:
    config = over({"run": {"groups": []}})
    assert [line.partition(" left out ")[0] for line in config.left_out] == [
        "analyses.accuracy.main_groups:",
        "run.analyses: rejection",
    ]
    # The first training group of one benchmark, by the alphabet.
    assert config.analyses.accuracy.headline_group == "gpqa"
    assert find_report_groups(config)["gpqa"].estimator == "forest-10d-balanced-isotonic"


def test_an_eleventh_benchmark_is_left_out_once(over: Any) -> None:
    mine = {"dataset": "me/mine", "question": ["{q}"], "reference": ["{a}"]}
    config = over({"run": {"benchmarks": [*PAPER["run"]["benchmarks"], "mine"]}, "benchmarks": {"mine": mine}})
    assert [sizes(config).count(k) for k in (4, 9, 10)] == [comb(11, 4), 0, 11]
    assert config.left_out == []


def test_two_benchmarks_are_enough(over: Any) -> None:
    config = over({"run": {"benchmarks": ["gsm8k", "olympiadbench"]}})
    assert sorted(training_groups(config)) == ["gsm8k", "gsm8k+olympiadbench", "olympiadbench"]
    assert config.run.groups == ["extremes"]


def test_a_benchmark_without_references_is_estimated_and_not_trained_on(over: Any) -> None:
    run = {"models": ["tiny-1m"], "groups": [], "benchmarks": ["averages", "percentages", "traffic"]}
    traffic = {"path": "demo/benchmarks/remainders.jsonl", "question": ["{question}"]}
    study = {"run": run | {"sizes": [{"size": 2}]}, "benchmarks": {"traffic": traffic}}
    config = over(study, "demo/config.yaml")
    assert config.labelled_benchmarks == ["averages", "percentages"]
    # Both that have references: the third is unseen.
    assert list(training_groups(config)) == ["averages+percentages"]
    study["run"]["groups"], study["groups"] = ["mixed"], {"mixed": {"benchmarks": ["averages", "traffic"]}}
    with pytest.raises(ConfigError, match=r"groups.mixed: benchmark 'traffic' has no references"):
        over(study, "demo/config.yaml")


def test_labels_imported_for_every_judge_replace_references(over: Any, tmp_path: Path) -> None:
    (tmp_path / "tiny-1m").mkdir()
    for name in ("averages", "traffic"):
        (tmp_path / "tiny-1m" / f"{name}.parquet").touch()
    run = {"models": ["tiny-1m"], "benchmarks": ["averages", "traffic"], "judges": ["people"], "groups": ["mixed"]}
    study = {
        "run": run,
        "benchmarks": {"traffic": {"path": "demo/benchmarks/remainders.jsonl", "question": ["{question}"]}},
        "judges": {"people": {"kind": "file", "path": str(tmp_path)}},
        "groups": {"mixed": {"benchmarks": ["traffic"]}},
    }
    assert over(study, "demo/config.yaml").labelled_benchmarks == ["averages", "traffic"]
    (tmp_path / "tiny-1m" / "traffic.parquet").unlink()
    with pytest.raises(ConfigError, match=r"groups.mixed: benchmark 'traffic' has no references and no imported"):
        over(study, "demo/config.yaml")
    study["run"]["judges"] = ["math-verify"]
    with pytest.raises(ConfigError, match=r"groups.mixed: benchmark 'traffic' has no references"):
        over(study, "demo/config.yaml")


def test_a_study_shows_its_own_name_unless_it_has_a_label(over: Any) -> None:
    assert over({}, "demo/config.yaml").analyses.accuracy.label("demo") == (
        "Demo: tiny language models on made-up arithmetic"
    )
    other = over({"study": "mine"}, "demo/config.yaml")
    assert other.analyses.accuracy.label(other.study) == "mine"
    label = "costs $5_$ and $6"
    assert over({"analyses": {"accuracy": {"labels": {"paper": label}}}}).analyses.accuracy.label("paper") == label


def benchmarks_only(*names: str) -> dict[str, Any]:
    """Changes of the paper's study: these benchmarks are run, and no named groups."""
    row = {"dataset": "me/mine", "question": ["{q}"], "reference": ["{a}"]}
    return {f"benchmarks.{name}": row for name in names} | {"run.benchmarks": list(names), "run.groups": []}


def test_more_groups_than_can_be_planned_are_refused() -> None:
    many = benchmarks_only(*(f"b{number:02}" for number in range(40)))
    assert f"run.sizes: 20 of 40 benchmarks makes {comb(40, 20):,} " in refusal(many | {"run.sizes": [{"size": 20}]})


def test_a_group_whose_id_is_too_long_for_a_file_has_a_shorter_one() -> None:
    config = study(benchmarks_only(*long_names("abcdef", 40)))
    files = map_group_files(config)
    assert len(files) == len(training_groups(config)) == 6 + 15 + 20 + 15 + 6
    assert max(map(len, files)) == 150
    ids = "+".join(long_names("abcde", 40))
    name = next(name for name, group in files.items() if group == ids)
    assert name.startswith(ids[:137] + "-")
    short = "+".join(long_names("ab", 40))
    assert files[short] == short


def long_names(letters: str, length: int) -> list[str]:
    """Names of so many characters, each with its letter first."""
    return [f"{letter}-{'of-a-long-name-' * 10}"[:length].strip("-") + letter for letter in letters]


def plan(folder: Path, differences: dict[str, Any], *below: str) -> str:
    """What a dry run prints, in a copy of the project."""
    project = Project(folder, [*below, "my.yaml"], profile="profiles/default")
    (folder / "my.yaml").write_text(yaml.safe_dump(differences))
    return project.run("--dry-run", "--quiet", "rules")


@pytest.mark.slow
def test_skipped_names_are_reported_once(tmp_path: Path) -> None:
    named = FOUR | {"analyses": {"accuracy": {"auroc_models": ["gpt-oss-20b"]}}}
    output = plan(tmp_path, named)
    counts = job_counts(output)
    # 14 groups for the first judge, and one of them for the second, to compare the two.
    assert (counts["benchmark"], counts["generation"], counts["estimate"]) == (4, 4, 14 + 1)
    assert output.count("analyses.accuracy.auroc_models: left out because not run: gpt-oss-20b") == 1
    assert output.count("left out") == 1, "the groups, sizes and names of the paper's study"


@pytest.mark.slow
def test_responses_of_one_benchmark_need_no_training_group(tmp_path: Path) -> None:
    run = {"models": ["tiny-1m"], "benchmarks": ["averages"], "groups": [], "sizes": [], "analyses": ["responses"]}
    counts = job_counts(plan(tmp_path, {"study": "one", "run": run | {"judges": ["math-verify"]}}, "demo/config.yaml"))
    assert counts == dict.fromkeys(["benchmark", "generation", "label", "feature", "observation", "responses_page"], 1)


def test_the_judge_in_comments_is_served_on_one_gpu_and_needs_no_key(over: Any) -> None:
    text = (ROOT / "config.yaml").read_text()
    entries: dict[str, Any] = {}
    for section, name in (("judges", "local"), ("models", "qwen3-14b")):
        (block,) = re.findall(rf"^(  # {name}:\n(?:  #   .*\n)+)", text, re.MULTILINE)
        entries[section] = yaml.safe_load(re.sub(r"^  # ", "", block, flags=re.MULTILINE))
    config = over(FOUR | entries | {"run": FOUR["run"] | {"judges": ["local", "math-verify"]}})
    assert label_requests.list_served_judges(config) == ["local"]
    assert label_requests.judge_settings(config, "local")["llm"]["model"] == "hosted_vllm/qwen3-14b"
    assert generation_requests.count_gpus(config, "qwen3-14b") == 1
    assert label_requests.list_hub_models(config) == ["qwen3-4b", "qwen3-14b"]


def test_the_papers_labels_are_an_llms_and_compared_with_exact_ones(over: Any) -> None:
    config = over({})
    assert config.run.judges == ["grok", "math-verify"]
    assert "agreement" in config.run.analyses
    analyses = config.analyses
    assert [analyses.accuracy.judges, analyses.rejection.judges, analyses.responses.judges] == [["grok"]] * 3
    # A study without keys needs only this line.
    exact = over(FOUR | {"run": FOUR["run"] | {"judges": ["math-verify"]}})
    assert "agreement" not in exact.run.analyses
    assert exact.analyses.accuracy.judges == ["math-verify"]
    assert label_requests.find_paid_judges(exact) == {}
