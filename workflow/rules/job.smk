# The base of most rules: `use rule cpu_job as NAME with:` adds input, output, log and params, and `resources` if a job
# needs more. The job calls the function that `calls` or `named` (common.smk) puts into its params.


rule cpu_job:
    log:
        f"{LOGS}/job.log",
    conda:
        CPU_ENV
    resources:
        **USUAL,
    script:
        JOB_SCRIPT
