from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0]):
    from entropy_sentinel.monitor.running import monitor
    from entropy_sentinel.monitor.showing.outputs import write_alerts, write_metrics, write_rows
    from entropy_sentinel.monitor.showing.page import write_page

    found = monitor(snakemake.input.estimator, snakemake.input.parts, **snakemake.params.options)
    for path in snakemake.output.rows:
        write_rows(found, path)
    write_metrics(found, snakemake.output.metrics)
    write_alerts(found, snakemake.output.alerts)
    write_page(found, snakemake.output.page)
    print(*found.problems.lines(), sep="\n")
