# Needs: the sweep, the statistics per domain, the headline group's estimates, and where everything came from.
# Makes: results/<study>/{judge}/tables/table_{n}.{csv,md,tex}, figures/figure_{n}.{pdf,png}, report.html, summary.txt.


HEADLINE = CONFIG.groups[CONFIG.presentation.headline_group].group_id


rule report:
    input:
        template=PACKAGE / "presentation" / "report.html.j2",
        sweep=SWEEP,
        auroc=AUROC,
        domains=DOMAINS,
        headline=expand(ESTIMATES, model=MODELS, group=HEADLINE, allow_missing=True),
        observations=expand(OBSERVATIONS, model=CONFIG.presentation.figure_model, allow_missing=True),
        generations=expand(GENERATIONS, model=MODELS, benchmark=BENCHMARKS),
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
    output:
        REPORT,
        f"{RESULTS}/{{judge}}/summary.txt",
        expand(
            f"{RESULTS}/{{judge}}/tables/table_{{number}}.{{kind}}",
            number=CONFIG.run.tables,
            kind=["csv", "md", "tex"],
            allow_missing=True,
        ),
        expand(
            f"{RESULTS}/{{judge}}/figures/figure_{{number}}.{{kind}}",
            number=CONFIG.run.figures,
            kind=["pdf", "png"],
            allow_missing=True,
        ),
    log:
        f"{LOGS}/{{judge}}/report.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("report.py"),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        tables=CONFIG.run.tables,
        figures=CONFIG.run.figures,
        settings=dict(
            **CONFIG.presentation.model_dump(),
            models=MODELS,
            benchmarks=BENCHMARKS,
            groups=NAMED_GROUPS,
            default=CONFIG.estimation.default,
            expected_items={name: CONFIG.benchmarks[name].expected_items for name in BENCHMARKS},
        ),
    script:
        "../scripts/report.py"
