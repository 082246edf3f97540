# Needs: the estimates of all models and training groups; the observations of all models; where everything came from.
# Makes: results/<study>/{judge}/sweep.parquet, AEE and rho of every estimator; auroc.parquet and domains.parquet, what
#        separates correct from incorrect, and counts; tables/, figures/, report.html, summary.txt.


SHOW = CONFIG.analyses.accuracy
HEADLINE = study.group_file(study.shown_groups(CONFIG)[SHOW.headline_group].group_id)
TABLES = [int(name.split("_")[0]) for name in SHOW.tables if name[0].isdigit()]
FIGURES = [int(name.split("_")[0]) for name in SHOW.figures]


rule sweep:
    input:
        estimates=expand(ESTIMATES, model=MODELS, group=GROUP_FILES, allow_missing=True),
    output:
        SWEEP,
    log:
        f"{LOGS}/{{judge}}/sweep.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("sweep.py"),
        models=[model for model in MODELS for _ in GROUPS],
        groups=[group for _ in MODELS for group in GROUPS],
    script:
        "../../../scripts/sweep.py"


rule domain_statistics:
    input:
        observations=expand(OBSERVATIONS, model=MODELS, allow_missing=True),
    output:
        auroc=AUROC,
        domains=DOMAINS,
    log:
        f"{LOGS}/{{judge}}/domain_statistics.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("domain_statistics.py"),
        models=MODELS,
    script:
        "../../../scripts/domain_statistics.py"


rule report:
    input:
        template="workflow/entropy_sentinel/analyses/accuracy/report.html.j2",
        sweep=SWEEP,
        auroc=AUROC,
        domains=DOMAINS,
        headline=expand(ESTIMATES, model=MODELS, group=HEADLINE, allow_missing=True),
        observations=expand(OBSERVATIONS, model=SHOW.figure_model, allow_missing=True)[0],
        generations=expand(GENERATIONS, model=MODELS, benchmark=BENCHMARKS),
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
    output:
        REPORT,
        f"{RESULTS}/{{judge}}/summary.txt",
        expand(
            f"{RESULTS}/{{judge}}/tables/table_{{number}}.{{kind}}",
            number=TABLES,
            kind=["csv", "md", "tex"],
            allow_missing=True,
        ),
        expand(
            f"{RESULTS}/{{judge}}/figures/figure_{{number}}.{{kind}}",
            number=FIGURES,
            kind=["pdf", "png"],
            allow_missing=True,
        ),
    log:
        f"{LOGS}/{{judge}}/report.log",
    conda:
        "../../../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("report.py"),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        tables=TABLES,
        figures=FIGURES,
        settings=dict(
            **SHOW.model_dump(exclude={"labels", "tables", "figures"}),
            label=SHOW.label(CONFIG.study),
            models=MODELS,
            benchmarks=BENCHMARKS,
            groups=NAMED_GROUPS,
            default=CONFIG.estimation.default,
            expected_items={name: CONFIG.benchmarks[name].expected_items for name in BENCHMARKS},
        ),
    script:
        "../../../scripts/report.py"
