# What most rules say alike: `use rule cpu_job as NAME with:` adds input, output, log and params, and another `resources`
# where a job needs more. The job calls the function that `calls` or `named` (common.smk) names in its params.


rule cpu_job:
    log:
        f"{LOGS}/job.log",
    conda:
        CPU_ENV
    resources:
        **USUAL,
    script:
        JOB_SCRIPT
