"""The pages of a study, as links from one to the others."""

import os
from pathlib import Path

from entropy_sentinel.config.sections import Config


def pages(config: Config, judge: str, but: str) -> dict[str, dict[str, str]]:
    """The pages of the other analyses of a judge's labels, as links from the page of the analysis `but`.

    By what they tell; below it by model, or under "" where there is one page.
    """
    own = Path(getattr(config.analyses, but).PAGE).parent
    return {
        section.TELLS: {
            model: os.path.relpath(section.PAGE, own).format(judge=judge, model=model)
            for model in (config.run.models if "{model}" in section.PAGE else [""])
        }
        for name, section in config.shown.items()
        if name != but and section.PAGE and section.is_of(judge)
    }
