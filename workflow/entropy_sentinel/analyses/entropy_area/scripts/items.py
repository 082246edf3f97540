from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.entropy_area.items import write_items

    write_items(snakemake.input, snakemake.output.by_response, snakemake.output.by_item)
