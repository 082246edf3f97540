from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.tunnel_index import write_tunnel_index

    write_tunnel_index(snakemake.input, snakemake.params.models, snakemake.params.settings, snakemake.output[0])
