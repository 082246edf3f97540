"""Entropy Sentinel: a language model's accuracy per domain, estimated from its log-probabilities.

Rooms, by floor; a module imports from its own floor and those below (`tests/test_floors.py` walks the imports). A
room's `settings.py` and `catalogue.py` are declarations: light, on the ground floor, open to all.

0. `frames`        what stages agree on: contracts, errors
1. `sources`, `chat`, `features`, `statistics`, `report`
2. `engines`, `judges`, `estimators`
3. `config`, `jobs`
4. `stages`        one module per stage of the pipeline
5. `analyses`, `verbs`: what is read off the stages' files, one folder per question; what a notebook calls
   `monitor`       slices of production logs
   `starting`      the config of a new study, from files of rows or a log
   `planning`      what is left of a study, how long it takes and what it costs
   `capturing`     logs of a service, written while it runs
   `auditing`      people label a sample; what follows for the judge
6. `commands`      the command line, a module per subcommand

In a notebook: `import entropy_sentinel as es`, then `es.read_logs`, `es.features`, `es.fit`, `es.estimate`,
`es.score`, `es.monitor`, `es.capture`.
"""

import sys
from importlib import import_module
from typing import Any

__version__ = "0.2.0"

if sys.platform == "win32":
    raise ImportError(
        "Entropy Sentinel runs on Linux and macOS: it locks folders and keeps files whole by means that Windows does "
        "not have. On Windows, install it in WSL (Windows Subsystem for Linux)"
    )

# Verbs by the module that has them: loaded when they are asked for, for most jobs need none.
_VERBS = {
    **dict.fromkeys(("open_logs", "read_features", "read_logs"), "verbs.reading"),
    "capture": "capturing.openai",
    "example": "verbs.example",
    "read_labels": "verbs.labels",
    "estimate": "monitor.once",
    **dict.fromkeys(("fit", "load", "save"), "verbs.estimation"),
    "sample": "monitor.labelling.sampling",
    "score": "verbs.scoring",
}
# Rooms that are called like a verb, with the function that is meant.
_ROOMS = {"features": "features.features", "monitor": "monitor.running.monitor"}
__all__ = [*_VERBS, *_ROOMS]


def __getattr__(name: str) -> Any:
    """A verb by its name."""
    if name in _ROOMS:
        return import_module(f"entropy_sentinel.{name}")
    if name not in _VERBS:
        raise AttributeError(f"module 'entropy_sentinel' has no attribute '{name}'; its verbs: {', '.join(__all__)}")
    return getattr(import_module(f"entropy_sentinel.{_VERBS[name]}"), name)


def __dir__() -> list[str]:
    """The verbs, for completion."""
    return [*globals(), *__all__]
