# The checked configuration, the names of all files, and shared parts of the rules. Imports here are light
# (tests/test_floors.py), because planning waits for them.

import math
import os
import re
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from entropy_sentinel.core import extensions
from snakemake.exceptions import WorkflowError

try:
    # Before other imports: catalogues read the declarations of extensions when they are imported.
    extensions.add_extensions(config.get("extensions") or [])
    extensions.find_roots()  # imports them
except extensions.ConfigError as error:
    raise WorkflowError(str(error)) from None

from entropy_sentinel.study.config import group_estimates, generation_requests, label_requests
from entropy_sentinel.study.config.config_loading import load_config, describe_unversioned_kinds
from entropy_sentinel.study.config.study_paths import get_parts_folder
from entropy_sentinel.study.engines.gpu_devices import list_visible_devices
from entropy_sentinel.study.engines.engine_run import announce_run
from entropy_sentinel.estimators.estimator_settings import group_file
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.study.jobs.job_calls import check_function, check_rule
from entropy_sentinel.study.jobs.file_content import can_reproduce_items, prefer_recorded_settings, add_content
from entropy_sentinel.study.jobs.code_fingerprint import fingerprint_code
from entropy_sentinel.study.jobs.job_outputs import check_folders, link_output
from entropy_sentinel.study.jobs.folder_ownership import remove_unowned_folder
from entropy_sentinel.study.jobs.job_records import StudyRecords, remember_jobs
from entropy_sentinel.study.jobs.output_requests import check_requests
from entropy_sentinel.study.jobs.reuse_plan import describe_reusable, find_reusable
from entropy_sentinel.study.jobs.result_reuse import check_store, forbid_reuse, describe_store
from entropy_sentinel.study.jobs.job_terminal import record_failures_of_groups, show_jobs
from entropy_sentinel.study.jobs.package_versions import announce_versions
from entropy_sentinel.signal_families.signal_registry import FAMILIES, module_of, find_rules
from snakemake.common.configfile import load_configfile
from snakemake.io import IOFile, strip_wildcard_constraints
from snakemake.jobs import GroupJob
from snakemake.path_modifier import PathModifier
from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord, PersistenceBase
from snakemake.utils import update_config

# The folder of this tree, also if another workflow uses this one as a module.
ROOT = Path(str(workflow.current_basedir)).resolve().parent
PACKAGE = ROOT / "workflow" / "entropy_sentinel"

# This file imports the package beside it. A job looks there last, after PYTHONPATH and installed packages, so another
# installed copy would run in the jobs. `pip install -e` of this tree leads back to the tree.
job_path = os.environ.get("PYTHONPATH", "").split(os.pathsep) + [
    folder for folder in sys.path if Path(folder).resolve() != PACKAGE.parent
]
elsewhere = PathFinder.find_spec("entropy_sentinel", list(filter(None, job_path)))
if elsewhere and elsewhere.origin and Path(elsewhere.origin).parent.resolve() != PACKAGE:
    raise WorkflowError(
        f"entropy_sentinel must be imported from {PACKAGE}, jobs would find it in {Path(elsewhere.origin).parent}; "
        "uninstall that copy (pip uninstall entropy-sentinel), or install this tree with pip install -e"
    )

# The name of a rule in the whole workflow, which may use this one as a module with other names.
in_workflow = workflow.modifier.modify_rulename

# The `prefix` of a module is for the study's results and logs. Snakemake would put it before the paths in the config, too,
# which are relative to the working folder, and miss the paths in params.
module_paths = workflow.modifier.path_modifier
roots = module_paths.replace_prefix("results/"), module_paths.replace_prefix("logs/")
workflow.modifier.path_modifier = PathModifier(None, None, workflow)

try:
    # The user's own settings, from --configfile and --config; messages about left-out parts concern only these.
    own, files = workflow.config_settings.overwrite_config, list(map(str, workflow.configfiles))
    if workflow.modifier.skip_configfile:
        # Another workflow uses this one as a module: `config` is what it gives, without the paper's study.
        base, own = load_configfile(ROOT / "config.yaml"), config
        update_config(base, own)
        config, files = base, [str(ROOT / "config.yaml"), "the module's config"]
    CONFIG = load_config(config, " + ".join(files), own or None, roots)
    check_store()
except ConfigError as error:
    raise WorkflowError(str(error)) from None

# Only once: every job parses this file as well.
if workflow.is_main_process:
    for line in [*CONFIG.left_out, *describe_unversioned_kinds(CONFIG), *extensions.list_failures()]:
        print(line, file=sys.stderr)
    REUSABLE = find_reusable(CONFIG)
    for line in [*describe_store(), *describe_reusable(REUSABLE)]:
        print(line, file=sys.stderr)

    from entropy_sentinel.study.planning.preflight.server_keys import find_missing_keys
    from entropy_sentinel.study.planning.preflight.pending_work import PendingWork

    # A dry run, which has no `onstart`, tells this too, and a run before it has planned thousands of jobs.
    for problem in find_missing_keys(PendingWork.from_absent_files(CONFIG, REUSABLE.keys())):
        print(problem, file=sys.stderr)


def rules_of_analysis(name):
    """The rules beside the module that declares an analysis."""
    path = extensions.get_folder("analyses", name) / "rules.smk"
    if not path.is_file():
        raise WorkflowError(
            f"analysis '{name}': {path} is missing; an installed package lists *.smk and *.j2 in its package-data"
        )
    return path


MODELS, BENCHMARKS, JUDGES = CONFIG.run.models, CONFIG.run.benchmarks, CONFIG.run.judges
GROUPS = group_estimates.training_groups(CONFIG)
ESTIMATE_BATCHES, ESTIMATOR_BATCHES = group_estimates.estimate_batches(CONFIG), group_estimates.estimator_batches(
    CONFIG
)
# The ids of groups by the names of their files, which are the values of the wildcard {group}.
GROUP_FILES = group_estimates.map_group_files(CONFIG)
NAMED_GROUPS = {name: group.model_dump() for name, group in group_estimates.find_report_groups(CONFIG).items()}

announce_versions()
generation_requests.announce_servers(CONFIG)
# The jobs of one machine share engines; a group of jobs in a cluster is a separate run.
if not workflow.subprocess_exec:
    announce_run(CONFIG.generation.engine_idle_s, workflow.is_main_process)
ESTIMATORS_OF = {file: GROUPS[group] for file, group in GROUP_FILES.items()}
JOB_LINES = show_jobs(workflow)
record_failures_of_groups(GroupJob)

LAYOUT = CONFIG.layout
RESULTS, LOGS = LAYOUT.results, LAYOUT.logs
# Snakemake's records of the jobs stay with the results.
STUDY_RECORDS = StudyRecords(RESULTS)
if workflow.is_main_process:
    remember_jobs(PersistenceBase, MetadataRecord, RECORD_FORMAT_VERSION, STUDY_RECORDS)
ITEMS, GENERATIONS, LABELS, FEATURES = LAYOUT.items, LAYOUT.generations, LAYOUT.labels, LAYOUT.features
# Families of signals other than the features, and their declarations. Jobs that use signals depend on these and on the
# files, not on the code that computes the signals, which may be an engine's.
SIGNAL_FAMILIES, SIGNALS = CONFIG.run.further_families, LAYOUT.signals
# Families that ask the model again.
PASSES_OF, PASSES = CONFIG.run.asking_families, LAYOUT.passes
# Rules whose jobs write partial results beside their output and resume from them (study/stages/job_parts.py).
WITH_PARTS = [in_workflow(name) for name in ("generation", *(f"pass_{family}" for family in PASSES_OF))]
DECLARED = [repr(FAMILIES[family]) for family in SIGNAL_FAMILIES]
OBSERVATIONS, ESTIMATES = LAYOUT.observations, LAYOUT.estimates
COSTS = LAYOUT.costs
KEPT = group_estimates.list_kept_estimators(CONFIG)
ESTIMATOR, SCORES = LAYOUT.estimator, LAYOUT.scores
ESTIMATORS = [
    *expand(SCORES, judge=JUDGES, model=MODELS, name=KEPT),
    *expand(ESTIMATOR, judge=JUDGES, model=MODELS, name=KEPT, estimator=CONFIG.estimation.keep),
]
TABLE_KINDS, FIGURE_KINDS = ["csv", "md", "tex", "html"], ["pdf", "png", "html"]
# The resources of most jobs. A profile can change them by set-resources. They cannot be in profiles/default: its values
# would replace a cluster's own default-resources.
USUAL = {"mem_mb": 4000, "runtime": 30}
# Absolute paths, because rules that use rule cpu_job are in other folders.
CPU_ENV, GENERATE_ENV = (f"{ROOT}/envs/{name}.yaml" for name in ("cpu", "generate"))
JOB_SCRIPT = f"{ROOT}/workflow/scripts/job.py"


def of_content(settings, files, output):
    """The settings of the job that makes `output` from `files` (one, several or None), with their content."""
    record = workflow.persistence.metadata(IOFile(output))
    files = [files] if isinstance(files, str) else files or []
    return add_content(settings, files, record and record.params, record and record.input_checksums)


def items_settings(benchmark):
    """The settings of a benchmark's job, and whether its changed file still gives the same items."""
    output = ITEMS.format(benchmark=benchmark)
    found = of_content(
        generation_requests.benchmark_settings(CONFIG, benchmark), CONFIG.benchmarks[benchmark].path, output
    )
    record = workflow.persistence.metadata(IOFile(output))
    made = prefer_recorded_settings(found, record and record.params, output)
    return made, made != found or (record is None and bool(can_reproduce_items(found, output)))


def rows_file(benchmark):
    path = CONFIG.benchmarks[benchmark].path or []
    return ancient(path) if path and items_settings(benchmark)[1] else path


def named(function):
    """The function that a job calls, for its parameter `call`; a new name alone does not rerun the job.

    Snakemake does not record a parameter that depends on a job's inputs.
    """

    def call(wildcards, input):
        return function

    call.function = function
    return call


def in_any_order(values):
    """Values, which the names of a job's inputs determine, for a parameter: a new order does not rerun the job.

    Snakemake does not record a parameter that depends on a job's inputs.
    """
    return lambda wildcards, input: values


def calls(function, *modules, exhibits={}):
    """Params with a job's function, as `call`, and a hash of each folder of its code.

    A function of an extension has its full name, others are named below the package. `modules` are further modules
    whose code counts. `exhibits` are declared tables or figures, whose functions the job calls as well. An analysis
    that reads signals also depends on what the study's signals are declared to be.
    """
    functions = [function, *(declaration.function for declaration in exhibits.values())]
    if workflow.is_main_process:
        try:
            for name in functions:
                check_function(name)
        except ConfigError as error:
            raise WorkflowError(str(error)) from None
    folders = dict(
        line.split() for line in fingerprint_code(*(name.rpartition(".")[0] for name in functions), *modules)
    )
    code = {f"code_{folder.replace(os.sep, '_')}": f"{folder} {digest}" for folder, digest in folders.items()}
    uses_signals = "signals" in folders and not function.startswith("study.stages.")
    declared = {"declared": DECLARED} if uses_signals else {}
    return {"call": named(function), **code, **declared}


def check_targets(analysis, earlier, targets):
    """Say that an analysis adds no files to TARGETS, which had `earlier`; refuse one that replaces the others' files."""
    path = rules_of_analysis(analysis)
    if targets[: len(earlier)] != earlier:
        raise WorkflowError(f"analysis '{analysis}': {path} must add its files to TARGETS by `TARGETS += ...`")
    if targets == earlier and workflow.is_main_process:
        print(f"analysis '{analysis}': {path} adds no files to TARGETS, so none is made", file=sys.stderr)


def check_rules():
    """Check that rules whose jobs call a function give it the parameters that it takes, and that outputs are asked for."""
    for calling in workflow.rules if workflow.is_main_process else []:
        if function := getattr(dict(calling.params.items()).get("call"), "function", None):
            try:
                check_rule(calling, function)
            except ConfigError as error:
                raise WorkflowError(str(error)) from None
    if workflow.is_main_process:
        try:
            check_requests(workflow.rules, in_workflow("all"), strip_wildcard_constraints)
        except ConfigError as error:
            raise WorkflowError(str(error)) from None


def shown(section, *keys):
    """The settings of an analysis's exhibits: these keys of its section, its label, and the groups."""
    chosen = {key: getattr(section, key) for key in ("headline_group", *keys)}
    return {**chosen, "label": section.label(CONFIG.study), "groups": NAMED_GROUPS}


def exhibits_of(analysis, **wildcards):
    """The tables, figures and report of an analysis; as targets, they are rebuilt if deleted."""
    names = [in_workflow(f"{analysis}_{exhibit}") for exhibit in ("tables", "figures", "report")]
    files = [strip_wildcard_constraints(file) for rule in workflow.rules if rule.name in names for file in rule.output]
    return expand(files, **wildcards)


def drawn_figures(section, of_each_model):
    """The figures of an analysis by the names of their files; `of_each_model` has one for each model."""
    found = {}
    for name in section.figures:
        for model in MODELS if name == of_each_model else [None]:
            of = [model] if model else []
            title = ", ".join([section.FIGURES[name], *of])
            found["_".join([name, *of])] = {"figure": name, "title": title, "model": model}
    return found


# An engine's jobs run together, and only as many at a time as keep all GPUs, or cores, busy: each engine starts once,
# and another model's engine can work beside it. In a cluster job they run one after the other, and Snakemake asks for
# as many of them side by side as this number allows, so it is 1 where jobs are submitted. `--jobs` says that they are:
# the executor is chosen after this file is read, and Snakemake's scheduler goes by the same sign. The GPUs of the
# machine that submits do not limit a cluster.
ENGINES = generation_requests.number_engines(CONFIG)
on_one_machine = workflow.is_main_process and workflow.nodes is None
if on_one_machine and workflow.global_resources.get("gpu").value is None and (gpus := list_visible_devices(os.environ)):
    workflow.register_resource("gpu", len(gpus))  # without --resources gpu=N, all GPUs
SIDE_BY_SIDE = (
    workflow.global_resources.get("gpu").value or (workflow.resource_settings.cores or 1) // CONFIG.generation.threads
)
for number in set(ENGINES.values()):
    at_once = math.ceil(max(SIDE_BY_SIDE, 1) / len(set(ENGINES.values()))) if on_one_machine else 1
    workflow.register_resource(f"engine_{number}", at_once)
    workflow.resource_scopes[f"engine_{number}"] = "local"


def engine_resources(asked):
    """The engine of a job as a resource; `asked(model)` is the engine's model, None without one."""
    return {
        f"engine_{number}": lambda wildcards, number=number: int(ENGINES.get(asked(wildcards.model)) == number)
        for number in set(ENGINES.values())
    }


def engine_priority(asked):
    return lambda wildcards: len(ENGINES) - ENGINES.get(asked(wildcards.model), len(ENGINES))


# Snakemake deletes existing outputs before a job begins, and fails if a file is in the place of a folder.
def check_places():
    try:
        check_folders(name for job in workflow.dag.needrun_jobs() for name in [*job.output, *job.log])
    except InputError as error:
        raise WorkflowError(str(error)) from None


def check_study():
    """Stop a run that would fail after hours, such as without the key of a judge; print what else is to be known."""
    from entropy_sentinel.study.planning.preflight.preflight_checks import find_problems
    from entropy_sentinel.study.planning.preflight.machine_resources import Executor
    from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
    from entropy_sentinel.study.planning.preflight.preflight_problem import Severity

    files = {Path(name) for job in workflow.dag.needrun_jobs() for name in job.output}
    work = PendingWork(CONFIG, files, REUSABLE.keys())
    executor = Executor.SLURM if workflow.executor_plugin.name == "slurm" else Executor.OTHER
    status_command = getattr(workflow.executor_settings, "status_command", None)
    problems = find_problems(work, Executor.LOCAL if workflow.local_exec else executor, status_command)
    errors = [str(problem) for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise WorkflowError("\n".join(["the run would fail, so no job is started:", *errors]))
    for problem in problems:
        print(problem, file=sys.stderr)


# If a benchmark is rebuilt, so are its generations, whose outputs Snakemake deletes first. Generations with the same
# questions and settings reuse the answers kept here (study/stages/generation_stage.py) without loading a model. So do passes.
def keep_answers():
    for job in workflow.dag.needrun_jobs():
        if job.rule.name in WITH_PARTS and not workflow.dag.reason(job).forced and Path(job.output[0]).is_file():
            link_output(job.output[0], get_parts_folder(job.output[0]))


# A run that is forced to make them takes none from another study (study/jobs/result_reuse.py).
REUSING = [*WITH_PARTS, *map(in_workflow, ("label", "label_served"))]


def refuse_reuse():
    if any(workflow.dag.reason(job).forced for job in workflow.dag.needrun_jobs() if job.rule.name in REUSING):
        forbid_reuse()


# Parts stay until Snakemake has accepted the output: it deletes the output of a job that it did not see end.
def clear_parts(log):
    for job in workflow.dag.jobs:
        if job.rule.name in WITH_PARTS and (workflow.dag.finished(job) or not workflow.dag.needrun(job)):
            remove_unowned_folder(Path(get_parts_folder(job.output[0])))


def run_after(outcome):
    """Run the config's command for the end of a run. If it fails, the results are still valid."""
    if CONFIG.after:
        status = subprocess.call(CONFIG.after, shell=True, env=os.environ | {"RESULTS": RESULTS, "OUTCOME": outcome})
        if status:
            print(f"after: '{CONFIG.after}' ended with exit status {status}", file=sys.stderr)


wildcard_constraints:
    model="|".join(map(re.escape, MODELS)),
    benchmark="|".join(map(re.escape, BENCHMARKS)),
    judge="|".join(map(re.escape, JUDGES)),
    group=r"[A-Za-z0-9._+-]+",
    name="|".join(map(re.escape, KEPT)) or "none",
    number=r"\d+",
