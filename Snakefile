# Entropy Sentinel: accuracy of a language model on each domain, without labels, from its log-probabilities.
#
#   benchmarks -> generations (GPU) -> labels (judge) ----\
#                                  \-> features ----------> observations -> estimates per (model, training group)
#                                                                       -> analyses
#
# Everything goes to results/<study>/ in the working folder; the study is described in config.yaml or in the file given
# as --configfile.

import os

from snakemake.utils import min_version

min_version("9.27")


# The paper's study, unless the folder in which Snakemake runs has a config.yaml of its own.
configfile: "config.yaml" if os.path.isfile("config.yaml") else f"{workflow.current_basedir}/config.yaml"


report: "workflow/report/description.rst"


include: "workflow/common.smk"
include: "workflow/report.smk"
include: "workflow/rules/job.smk"
include: "workflow/rules/benchmark.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/label.smk"
include: "workflow/rules/cost.smk"
include: "workflow/rules/feature.smk"
include: "workflow/rules/engine_pass.smk"
include: "workflow/rules/signals.smk"
include: "workflow/rules/observation.smk"
include: "workflow/rules/estimate.smk"
include: "workflow/rules/estimator.smk"
include: "workflow/rules/prefetch.smk"


# The files of the analyses.
TARGETS = []
for name in CONFIG.run.analyses:
    earlier = [*TARGETS]
    earlier_rules = {rule.name for rule in workflow.rules}

    include: rules_of_analysis(name)

    check_targets(name, earlier, TARGETS)
    flag_exhibits(name, earlier_rules)


onstart:
    check_places()
    check_study()
    keep_answers()
    refuse_reuse()


onsuccess:
    clear_parts(log)
    STUDY_RECORDS.compact()
    tell_report()
    run_after("success")


onerror:
    clear_parts(log)
    STUDY_RECORDS.compact()
    JOB_LINES.show_failures_again()
    run_after("failure")


localrules:
    all,


rule all:
    default_target: True
    input:
        TARGETS,
        ESTIMATORS,
        expand(COSTS, judge=label_requests.find_paid_judges(CONFIG)),


# Targets for a part of the pipeline, for example to try a new machine or a new model.
rule generations:
    input:
        expand(GENERATIONS, model=MODELS, benchmark=BENCHMARKS),


rule labels:
    input:
        expand(LABELS, judge=JUDGES, model=MODELS, benchmark=BENCHMARKS),


rule features:
    input:
        expand(FEATURES, model=MODELS, benchmark=BENCHMARKS),
        expand(SIGNALS, family=SIGNAL_FAMILIES, model=MODELS, benchmark=BENCHMARKS),


rule estimates:
    input:
        expand(ESTIMATES, judge=JUDGES, model=MODELS, group=GROUP_FILES),


rule estimators:
    input:
        ESTIMATORS,


check_rules()
