from entropy_sentinel.study.jobs.job_logs import job_log

with job_log(snakemake.log[0]):
    from pathlib import Path

    from entropy_sentinel.monitor.monitor_options import MonitorOptions
    from entropy_sentinel.monitor.monitor_run import monitor_sources
    from entropy_sentinel.monitor.reading.feature_stream import resolve_sources
    from entropy_sentinel.monitor.showing.output_registry import OUTPUTS

    estimator = snakemake.input.estimator or None
    result = monitor_sources(
        estimator, resolve_sources(snakemake.input.parts), MonitorOptions.from_values(snakemake.params.options)
    )
    for name, paths in snakemake.output.items():
        for path in paths if isinstance(paths, list) else [paths]:
            OUTPUTS[name].write(result, Path(path))
    print(*result.problems.lines(), sep="\n")
