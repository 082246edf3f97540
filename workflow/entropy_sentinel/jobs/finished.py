"""The finished output of a long job under a second name, which is left where Snakemake deletes the first."""

import os
from pathlib import Path

# In the folder of a job's partial results (stages/parts.py).
FINISHED = "whole.parquet"


def keep(output: str | Path, folder: str | Path) -> bool:
    """Give `output` its second name in `folder`, which takes no room; False on file systems without hard links."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        os.link(output, Path(folder, FINISHED))
    except FileExistsError:
        return True
    except OSError:
        return False
    return True
