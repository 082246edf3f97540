from pathlib import Path

from entropy_sentinel.commands.plan import plan
from entropy_sentinel.config.config import load_config

text = plan(load_config(snakemake.params.config))
print(text)
Path(snakemake.log[0]).write_text(text + "\n")
