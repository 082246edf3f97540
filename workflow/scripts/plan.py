from entropy_sentinel.config.config import load_config
from entropy_sentinel.planning.forecast import plan
from entropy_sentinel.report.terminal import show

parts = plan(load_config(snakemake.params.config))
show(parts)
with open(snakemake.log[0], "w") as log:
    show(parts, log)
