"""Measure the time to plan the paper's full study, against a bare Snakemake workflow with the same jobs, in one run.

The bare workflow has the same rules, wildcards and files, and nothing else: no settings, no fingerprints of the code,
no config. Run by `make bench-dag`; prints one JSON object as its last line.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import yaml
from dry_runs import DryRun, dry_run
from workflow_runs import ROOT, Project, job_counts

from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.group_estimates import training_groups

GOAL_S = 20
EXPECTED = {"generation": 90, "label": 90, "feature": 90, "estimate": 3555, "estimator": 36}

BARE = """
MODELS, BENCHMARKS, GROUPS = {models}, {benchmarks}, {groups}
NAMED, KEPT = {named}, {kept}

wildcard_constraints: group="[A-Za-z0-9._+-]+"

rule all:
    default_target: True
    input:
        "report",
        "rejection/report",
        expand("scores/{{model}}/{{name}}", model=MODELS, name=NAMED),

rule benchmark:
    output: "items/{{benchmark}}"
    shell: "touch {{output}}"

rule generation:
    input: rules.benchmark.output
    output: "generations/{{model}}/{{benchmark}}"
    shell: "touch {{output}}"

rule label:
    input: rules.benchmark.output, rules.generation.output
    output: "labels/{{model}}/{{benchmark}}"
    shell: "touch {{output}}"

rule feature:
    input: rules.generation.output
    output: "features/{{model}}/{{benchmark}}"
    shell: "touch {{output}}"

rule observation:
    input:
        expand(rules.benchmark.output, benchmark=BENCHMARKS),
        expand(rules.label.output, benchmark=BENCHMARKS, allow_missing=True),
        expand(rules.feature.output, benchmark=BENCHMARKS, allow_missing=True),
    output: "observations/{{model}}"
    shell: "touch {{output}}"

rule estimate:
    input: rules.observation.output
    output: "estimates/{{model}}/{{group}}"
    shell: "touch {{output}}"

rule estimator:
    input: rules.observation.output
    output: expand("estimators/{{{{model}}}}/{{{{name}}}}/{{estimator}}", estimator=KEPT), "scores/{{model}}/{{name}}"
    shell: "touch {{output}}"

rule accuracy_sweep:
    input: expand(rules.estimate.output, model=MODELS, group=GROUPS)
    output: "sweep"
    shell: "touch {{output}}"

rule accuracy_domains:
    input: expand(rules.observation.output, model=MODELS)
    output: "auroc", "domains"
    shell: "touch {{output}}"

rule accuracy_validation:
    input: rules.observation.output
    output: "validation/{{model}}"
    shell: "touch {{output}}"

rule accuracy_tables:
    input:
        rules.accuracy_sweep.output, rules.accuracy_domains.output, expand("validation/{{model}}", model=MODELS),
    output: "tables"
    shell: "touch {{output}}"

rule accuracy_figures:
    input:
        rules.accuracy_sweep.output, rules.accuracy_domains.output, expand("validation/{{model}}", model=MODELS),
    output: "figures"
    shell: "touch {{output}}"

rule rejection_assessments:
    input: rules.observation.output, expand(rules.benchmark.output, benchmark=BENCHMARKS)
    output: "rejection/questions/{{model}}"
    shell: "touch {{output}}"

rule rejection_measures:
    input:
        rules.observation.output, rules.rejection_assessments.output,
        expand("scores/{{{{model}}}}/{{name}}", name=NAMED),
    output: "rejection/measures/{{model}}"
    shell: "touch {{output}}"

rule rejection_tables:
    input: expand(rules.rejection_measures.output, model=MODELS)
    output: "rejection/tables"
    shell: "touch {{output}}"

rule rejection_figures:
    input: expand(rules.observation.output, model=MODELS), expand(rules.rejection_assessments.output, model=MODELS)
    output: "rejection/figures"
    shell: "touch {{output}}"

rule rejection_report:
    input: expand(rules.rejection_measures.output, model=MODELS), "rejection/tables", "rejection/figures"
    output: "rejection/report"
    shell: "touch {{output}}"

rule responses_page:
    input:
        rules.observation.output, expand(rules.benchmark.output, benchmark=BENCHMARKS),
        expand(rules.generation.output, benchmark=BENCHMARKS, allow_missing=True),
        expand(rules.label.output, benchmark=BENCHMARKS, allow_missing=True),
    output: "responses/{{model}}"
    shell: "touch {{output}}"

rule accuracy_report:
    input:
        rules.accuracy_sweep.output, rules.accuracy_domains.output,
        rules.accuracy_tables.output, rules.accuracy_figures.output,
        expand(rules.generation.output, model=MODELS, benchmark=BENCHMARKS),
        expand(rules.benchmark.output, benchmark=BENCHMARKS),
        expand(rules.responses_page.output, model=MODELS),
    output: "report"
    shell: "touch {{output}}"
"""


def summary(runs: list[DryRun]) -> dict[str, float]:
    return {
        "wall_s": round(statistics.median(run.wall_s for run in runs), 2),
        "cpu_s": round(statistics.median(run.cpu_s for run in runs), 2),
        "peak_mib": max(run.peak_mib for run in runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side, in turns; the median counts")
    arguments = parser.parse_args()
    config = load_config(yaml.safe_load((ROOT / "config.yaml").read_text()), "config.yaml")
    with tempfile.TemporaryDirectory() as scratch:
        ours, bare = Project(Path(scratch, "ours"), []).folder, Path(scratch, "bare")
        bare.mkdir()
        groups = list(training_groups(config))
        (bare / "Snakefile").write_text(
            BARE.format(
                models=config.run.models,
                benchmarks=config.run.benchmarks,
                groups=groups,
                named=config.run.groups,
                kept=config.estimation.keep,
            )
        )
        runs: dict[str, list[DryRun]] = {"ours": [], "bare": []}
        for _ in range(arguments.repeats):
            runs["ours"].append(dry_run(ours))
            runs["bare"].append(dry_run(bare))
    jobs = job_counts(runs["ours"][0].output)
    assert jobs == job_counts(runs["bare"][0].output), "both sides must have the same jobs"
    assert jobs.items() >= EXPECTED.items(), jobs
    sides = {name: summary(side) for name, side in runs.items()}
    for name, side in sides.items():
        print(name, side)
    print(
        json.dumps(
            {
                "benchmark": "dag",
                "ratio": round(sides["ours"]["cpu_s"] / sides["bare"]["cpu_s"], 2),
                "of": "CPU-seconds of planning the paper's study over those of a bare workflow with the same jobs",
                "goal_s": GOAL_S,
                "reached": sides["ours"]["wall_s"] < GOAL_S,
                "jobs": jobs,
                "repeats": arguments.repeats,
                **sides,
            }
        )
    )


if __name__ == "__main__":
    main()
