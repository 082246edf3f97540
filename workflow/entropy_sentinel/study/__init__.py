"""What `snakemake` runs: a study of models on benchmarks, from its config to its report.

May be imported by: papers. Everything outside this folder works without it (pyproject.toml). In the order of a run:
`config`, `items`, `engines`, `stages` with `signal_families` and `semantic_clustering`, `analyses`. `jobs` is how
Snakemake's jobs call the stages, `planning` says what a run will cost, `init` starts a study, `auditing` checks its
judge, `cli` has its subcommands.
"""
