# Needs: the labels of all models and benchmarks by a judge behind a server, or by one that combines it, and the ledger
#        of their costs.
# Makes: results/<study>/{judge}/costs.csv, calls, cached calls, tokens and dollars per model and benchmark.


use rule cpu_job as cost with:
    input:
        labels=lambda wildcards: expand(
            LABELS,
            judge=label_requests.find_paid_judges(CONFIG)[wildcards.judge][0],
            model=MODELS,
            benchmark=BENCHMARKS,
        ),
    output:
        COSTS,
    log:
        f"{LOGS}/{{judge}}/cost.log",
    # A judge that another one combines, or that is a benchmark's own, need not be in run.judges.
    wildcard_constraints:
        judge="|".join(map(re.escape, label_requests.find_paid_judges(CONFIG))) or "none",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        **calls("study.stages.cost_stage.write_costs"),
        ledger=lambda wildcards: generation_requests.get_ledger_path(CONFIG, f"judges.{wildcards.judge}"),
