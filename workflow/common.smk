# The checked configuration, the names of all files, and what the rules share. Layer 0 of the package only: planning
# must not wait for heavy imports.

import os
import re
from pathlib import Path

import entropy_sentinel
from entropy_sentinel.config import study
from entropy_sentinel.config.config import load_config
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.jobs.fingerprint import fingerprint
from entropy_sentinel.config.layout import Layout
from entropy_sentinel.jobs.servers import announce_servers
from entropy_sentinel.jobs.versions import announce_versions
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

announce_versions()
announce_servers(CONFIG)

LAYOUT = Layout(CONFIG.study)
RESULTS, LOGS = LAYOUT.results, LAYOUT.logs
ITEMS, GENERATIONS, LABELS, FEATURES = LAYOUT.items, LAYOUT.generations, LAYOUT.labels, LAYOUT.features
OBSERVATIONS, ESTIMATES = LAYOUT.observations, LAYOUT.estimates
SWEEP, AUROC, DOMAINS, REPORT = LAYOUT.sweep, LAYOUT.auroc, LAYOUT.domains, LAYOUT.report
ANALYSES = getattr(CONFIG.run, "analyses", ["accuracy"])


wildcard_constraints:
    model="|".join(map(re.escape, MODELS)),
    benchmark="|".join(map(re.escape, BENCHMARKS)),
    judge="|".join(map(re.escape, JUDGES)),
    group=r"[A-Za-z0-9._+-]+",
    number=r"\d+",
