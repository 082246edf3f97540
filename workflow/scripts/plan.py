from pathlib import Path

from entropy_sentinel.contracts.config import load_config
from entropy_sentinel.presentation.forecast import plan

text = plan(load_config(snakemake.params.config))
print(text)
Path(snakemake.log[0]).write_text(text + "\n")
