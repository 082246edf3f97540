# Slices of a deployed model's logs on several machines: a job for each log file, and one that adds up.
#
#   snakemake -s workflow/monitor.smk --cores 2 --configfile monitor.yaml
#   snakemake -s workflow/monitor.smk --profile slurm --configfile monitor.yaml
#
# monitor.yaml has
#
#   estimator: mine.estimator           # a file that `fit` or a study has written; none if `options` have labels
#   logs: ["logs/*.jsonl.gz"]          # files and patterns
#   folder: monitor                     # where everything goes
#   extensions: [mine]                  # your own formats, statistics and outputs (CONTRIBUTING.md)
#   options:                            # those of the verb `monitor`
#     {by: [metadata.route], window: day, reference: 2026-11-01..2026-11-07, alert_on: [drop], responses: 5}
#
# It writes page.html, rows.csv, rows.parquet, rows.json, metrics.prom and alerts.json. Only new log files, and those
# that have grown, are read. The parts are files like those of `monitor --state`.

from entropy_sentinel.core import extensions

# Before other imports, which read what extensions declare.
extensions.add_extensions(config.pop("extensions", []))

from entropy_sentinel.study.jobs.code_fingerprint import fingerprint_code
from entropy_sentinel.study.jobs.job_records import StudyRecords, remember_jobs
from entropy_sentinel.monitor.partitions import Partitions
from entropy_sentinel.study.jobs.package_versions import announce_versions
from entropy_sentinel.monitor.showing.output_registry import OUTPUTS
from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord, PersistenceBase
from snakemake.utils import min_version

min_version("9.27")

PARTITIONS = Partitions(config)
FOLDER = PARTITIONS.folder
# Those of extensions as well. Each is a target: a job does not run for a new output that nobody requests.
OUTPUT_FILES = {one.name: [f"{FOLDER}/{name}" for name in one.files] for one in OUTPUTS.values() if one.files}
announce_versions()
# Snakemake's records of the jobs stay with the results.
if workflow.is_main_process:
    remember_jobs(PersistenceBase, MetadataRecord, RECORD_FORMAT_VERSION, StudyRecords(FOLDER))


localrules:
    all,


rule all:
    default_target: True
    input:
        OUTPUT_FILES.values(),


rule monitor_part:
    input:
        estimator=PARTITIONS.estimator or [],
        log=lambda wildcards: PARTITIONS.logs[wildcards.part],
    output:
        f"{FOLDER}/parts/{{part}}",
    log:
        f"{FOLDER}/logs/{{part}}.log",
    # Many of these form one cluster job, by group-components in the profile: monitor_parts=16.
    group:
        "monitor_parts"
    conda:
        "../envs/cpu.yaml"
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        *fingerprint_code("monitor.monitor_run", *extensions.list_declaring_modules("formats")),
        options=PARTITIONS.reading,
    script:
        "scripts/monitor_part.py"


rule monitor:
    input:
        estimator=PARTITIONS.estimator or [],
        parts=expand(f"{FOLDER}/parts/{{part}}", part=PARTITIONS.logs),
        labels=PARTITIONS.options.get("labels") or [],
        judged=PARTITIONS.options.get("judged") or [],
        acknowledged=PARTITIONS.options.get("acknowledged") or [],
        events=PARTITIONS.event_files,
    output:
        **OUTPUT_FILES,
    log:
        f"{FOLDER}/logs/monitor.log",
    conda:
        "../envs/cpu.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        *fingerprint_code("monitor.monitor_run", "monitor.showing"),
        options=PARTITIONS.options,
    script:
        "scripts/monitor.py"
