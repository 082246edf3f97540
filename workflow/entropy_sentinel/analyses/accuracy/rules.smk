# Needs: the estimates of all models and training groups; the observations of all models; where everything came from.
# Makes: results/<study>/{judge}/sweep.parquet, AEE and rho of every estimator; auroc.parquet and domains.parquet, what
#        separates correct from incorrect, and counts; tables/, figures/, report.html, summary.txt.
# Each family of exhibits is one job: another colour redraws the figures and the page that they stand on, no table.

from entropy_sentinel.analyses.accuracy import catalogue as ACCURACY_CATALOGUE

ACCURACY = getattr(CONFIG, "analyses", None) and CONFIG.analyses.accuracy
if ACCURACY:
    ACCURACY_LABEL, ACCURACY_SHOW = ACCURACY.label(CONFIG.study), ACCURACY.model_dump()
else:
    ACCURACY_LABEL, ACCURACY_SHOW = CONFIG.presentation.label, CONFIG.presentation.model_dump()
    for kind, names in {"tables": ACCURACY_CATALOGUE.TABLES, "figures": ACCURACY_CATALOGUE.FIGURES}.items():
        numbers = list(map(str, getattr(CONFIG.run, kind)))
        ACCURACY_SHOW[kind] = [name for name in names if name.partition("_")[0] in ["estimates", *numbers]]
group_file = getattr(study, "group_file", lambda group: group)

ACCURACY_GROUP_FILES = {
    name: group_file("+".join(sorted(group["benchmarks"]))) for name, group in NAMED_GROUPS.items()
}
ACCURACY_TABLES = [f"{RESULTS}/{{judge}}/tables/table_{name}" for name in ACCURACY_SHOW["tables"]]
ACCURACY_FIGURES = [f"{RESULTS}/{{judge}}/figures/figure_{name}" for name in ACCURACY_SHOW["figures"]]


def accuracy_settings(*keys):
    """What is shown, of it those settings that a family of exhibits is made from."""
    return {key: ACCURACY_SHOW[key] for key in keys} | {
        "label": ACCURACY_LABEL,
        "groups": NAMED_GROUPS,
        "headline_group": ACCURACY_SHOW["headline_group"],
    }


def accuracy_code(script, *templates):
    """The fingerprint of a script of this analysis and of the templates it fills in, named from the package."""
    return fingerprint(f"entropy_sentinel/analyses/accuracy/scripts/{script}.py", *templates)


rule accuracy_sweep:
    input:
        estimates=expand(ESTIMATES, model=MODELS, group=map(group_file, GROUPS), allow_missing=True),
    output:
        SWEEP,
    log:
        f"{LOGS}/{{judge}}/accuracy_sweep.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *accuracy_code("sweep"),
    script:
        "scripts/sweep.py"


rule accuracy_domains:
    input:
        observations=expand(OBSERVATIONS, model=MODELS, allow_missing=True),
    output:
        auroc=AUROC,
        domains=DOMAINS,
    log:
        f"{LOGS}/{{judge}}/accuracy_domains.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *accuracy_code("domains"),
    script:
        "scripts/domains.py"


rule accuracy_tables:
    input:
        sweep=SWEEP,
        auroc=AUROC,
        domains=DOMAINS,
        estimates=expand(ESTIMATES, model=MODELS, group=ACCURACY_GROUP_FILES.values(), allow_missing=True),
    output:
        expand("{table}.{kind}", table=ACCURACY_TABLES, kind=["csv", "md", "tex", "html"]),
    log:
        f"{LOGS}/{{judge}}/accuracy_tables.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *accuracy_code("tables", "report/exhibits.html.j2"),
        names=ACCURACY_SHOW["tables"],
        settings=accuracy_settings("auroc_models", "auroc_benchmarks") | {"default": CONFIG.estimation.default},
    script:
        "scripts/tables.py"


rule accuracy_figures:
    input:
        sweep=SWEEP,
        domains=DOMAINS,
        estimates=expand(
            ESTIMATES, model=MODELS, group=ACCURACY_GROUP_FILES[ACCURACY_SHOW["headline_group"]], allow_missing=True
        ),
        observations=expand(OBSERVATIONS, model=ACCURACY_SHOW["figure_model"], allow_missing=True)[0],
    output:
        expand("{figure}.{kind}", figure=ACCURACY_FIGURES, kind=["pdf", "png", "html"]),
    log:
        f"{LOGS}/{{judge}}/accuracy_figures.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *accuracy_code("figures", "report/exhibits.html.j2"),
        names=ACCURACY_SHOW["figures"],
        settings=accuracy_settings("figure_model", "figure_benchmark") | {"default": CONFIG.estimation.default},
    script:
        "scripts/figures.py"


rule accuracy_report:
    input:
        sweep=SWEEP,
        domains=DOMAINS,
        estimates=rules.accuracy_figures.input.estimates,
        generations=expand(GENERATIONS, model=MODELS, benchmark=BENCHMARKS),
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        tables=expand("{table}.html", table=ACCURACY_TABLES),
        figures=expand("{figure}.html", figure=ACCURACY_FIGURES),
    output:
        page=REPORT,
        summary=f"{RESULTS}/{{judge}}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/accuracy_report.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *accuracy_code(
            "report", "report/exhibits.html.j2", "report/page.html.j2", "analyses/accuracy/report.html.j2"
        ),
        settings=accuracy_settings()
        | {"expected_items": {name: CONFIG.benchmarks[name].expected_items for name in BENCHMARKS}},
    script:
        "scripts/report.py"


TARGETS += expand(REPORT, judge=JUDGES)
