# The checked configuration, the names of all files, and what the rules share. Layer 0 of the package only: planning
# must not wait for heavy imports.

import os
import re
from pathlib import Path

import entropy_sentinel
from entropy_sentinel.contracts import study
from entropy_sentinel.contracts.config import load_config
from entropy_sentinel.contracts.errors import ConfigError
from entropy_sentinel.contracts.fingerprint import fingerprint
from snakemake.exceptions import WorkflowError

PACKAGE = Path(workflow.basedir) / "workflow" / "entropy_sentinel"

# A copy installed elsewhere would run in the jobs while this file plans from the tree.
if Path(entropy_sentinel.__file__).parent.resolve() != PACKAGE.resolve():
    raise WorkflowError(
        f"entropy_sentinel must be imported from {PACKAGE}, was found in "
        f"{Path(entropy_sentinel.__file__).parent}; uninstall that copy, or install it with pip install -e"
    )

try:
    CONFIG = load_config(config, " + ".join(map(str, workflow.configfiles)))
except ConfigError as error:
    raise WorkflowError(str(error)) from None

MODELS, BENCHMARKS, JUDGES = CONFIG.run.models, CONFIG.run.benchmarks, CONFIG.run.judges
GROUPS = study.training_groups(CONFIG)
NAMED_GROUPS = {name: CONFIG.groups[name].model_dump() for name in CONFIG.run.groups}

RESULTS = f"results/{CONFIG.study}"
LOGS = f"logs/{CONFIG.study}"
ITEMS = f"{RESULTS}/benchmarks/{{benchmark}}.parquet"
GENERATIONS = f"{RESULTS}/generations/{{model}}/{{benchmark}}.parquet"
LABELS = f"{RESULTS}/labels/{{judge}}/{{model}}/{{benchmark}}.parquet"
FEATURES = f"{RESULTS}/features/{{model}}/{{benchmark}}.parquet"
OBSERVATIONS = f"{RESULTS}/observations/{{judge}}/{{model}}.parquet"
ESTIMATES = f"{RESULTS}/estimates/{{judge}}/{{model}}/{{group}}.parquet"
SWEEP = f"{RESULTS}/{{judge}}/sweep.parquet"
AUROC = f"{RESULTS}/{{judge}}/auroc.parquet"
DOMAINS = f"{RESULTS}/{{judge}}/domains.parquet"


REPORT = f"{RESULTS}/{{judge}}/report.html"
REPORTS = expand(REPORT, judge=JUDGES)


wildcard_constraints:
    model="|".join(map(re.escape, MODELS)),
    benchmark="|".join(map(re.escape, BENCHMARKS)),
    judge="|".join(map(re.escape, JUDGES)),
    group=r"[A-Za-z0-9._+-]+",
    number=r"\d+",
