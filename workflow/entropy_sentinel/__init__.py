"""Entropy Sentinel: a language model's accuracy on each domain, estimated without labels from its log probabilities.

In a notebook: `import entropy_sentinel as es`, then `es.read_logs`, `es.features`, `es.fit`, `es.estimate`,
`es.score`, `es.monitor`, `es.compare`, `es.plot`, `es.capture`. `dir(es)` has all verbs, the classes of their results,
and the errors to catch. docs/architecture.md describes the package's rooms.
"""

import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any
from warnings import warn

if TYPE_CHECKING:
    # What editors and type checkers see; a test compares it with _VERBS and _CLASSES.
    from inspect import Signature

    from entropy_sentinel.api.estimation import fit as fit
    from entropy_sentinel.api.estimation import load as load
    from entropy_sentinel.api.estimation import save as save
    from entropy_sentinel.api.label_reading import read_labels as read_labels
    from entropy_sentinel.api.response_reading import Example as Example
    from entropy_sentinel.api.response_reading import example as example
    from entropy_sentinel.api.response_reading import features as features
    from entropy_sentinel.api.response_reading import open_logs as open_logs
    from entropy_sentinel.api.response_reading import read_features as read_features
    from entropy_sentinel.api.response_reading import read_logs as read_logs
    from entropy_sentinel.capture.openai import capture as capture
    from entropy_sentinel.capture.service_columns import tagged as tagged
    from entropy_sentinel.core.errors import ConfigError as ConfigError
    from entropy_sentinel.core.errors import EntropySentinelError as EntropySentinelError
    from entropy_sentinel.core.errors import InputError as InputError
    from entropy_sentinel.core.errors import ProvenanceError as ProvenanceError
    from entropy_sentinel.estimators.fitted_estimator import FittedEstimator as FittedEstimator
    from entropy_sentinel.logs.log_stream import Logs as Logs
    from entropy_sentinel.monitor.batch import estimate as estimate
    from entropy_sentinel.monitor.labelling.judge_run import judge as judge
    from entropy_sentinel.monitor.labelling.neyman_sampling import sample as sample
    from entropy_sentinel.monitor.labelling.sample_plan import Sample as Sample
    from entropy_sentinel.monitor.model_comparison import Comparison as Comparison
    from entropy_sentinel.monitor.model_comparison import compare as compare
    from entropy_sentinel.monitor.monitor_result import Monitored as Monitored
    from entropy_sentinel.monitor.monitor_run import monitor as monitor
    from entropy_sentinel.monitor.response_scores import score as score
    from entropy_sentinel.monitor.showing.notebook_plot import Picture as Picture
    from entropy_sentinel.monitor.showing.notebook_plot import plot as plot

__version__ = "0.2.0"

if sys.platform == "win32":
    raise ImportError(
        "Entropy Sentinel runs on Linux and macOS: it locks folders and replaces files in ways that Windows does "
        "not have. On Windows, install it in WSL (Windows Subsystem for Linux)"
    )

# Verbs by their module, which is imported when a verb is first used, because most jobs need none.
_VERBS = {
    **dict.fromkeys(("example", "features", "open_logs", "read_features", "read_logs"), "api.response_reading"),
    "capture": "capture.openai",
    "tagged": "capture.service_columns",
    "read_labels": "api.label_reading",
    "compare": "monitor.model_comparison",
    "estimate": "monitor.batch",
    "judge": "monitor.labelling.judge_run",
    **dict.fromkeys(("fit", "load", "save"), "api.estimation"),
    "monitor": "monitor.monitor_run",
    "plot": "monitor.showing.notebook_plot",
    "sample": "monitor.labelling.neyman_sampling",
    "score": "monitor.response_scores",
}
# Results of verbs, for type hints, and errors.
_CLASSES = {
    **dict.fromkeys(("ConfigError", "EntropySentinelError", "InputError", "ProvenanceError"), "core.errors"),
    "Comparison": "monitor.model_comparison",
    "Example": "api.response_reading",
    "FittedEstimator": "estimators.fitted_estimator",
    "Logs": "logs.log_stream",
    "Monitored": "monitor.monitor_result",
    "Picture": "monitor.showing.notebook_plot",
    "Sample": "monitor.labelling.sample_plan",
}
__all__ = [*_VERBS, *_CLASSES]


class Room(ModuleType):
    """A room that has the name of a verb: `es.features(...)` calls the verb."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """The result of the verb of this name."""
        return _verb(self.__name__.rpartition(".")[2])(*arguments, **options)

    @property
    def __signature__(self) -> "Signature":
        """The signature of the verb, for completion in notebooks."""
        from inspect import signature

        return signature(_verb(self.__name__.rpartition(".")[2]))


def _verb(name: str) -> Any:
    verb = getattr(import_module(f"{__name__}.{_VERBS[name]}"), name)
    if extensions := sys.modules.get(f"{__name__}.core.extensions"):
        for line in extensions.list_failures():
            _warn(line)
    return verb


@cache
def _warn(line: str) -> None:
    """Warn once, with the line that uses a verb."""
    warn(line, stacklevel=4)


def __getattr__(name: str) -> Any:
    """A verb or a class by its name."""
    if name in _CLASSES:
        return getattr(import_module(f"{__name__}.{_CLASSES[name]}"), name)
    if name not in _VERBS:
        raise AttributeError(f"module 'entropy_sentinel' has no attribute '{name}'; its verbs: {', '.join(_VERBS)}")
    return _verb(name)


def __dir__() -> list[str]:
    """The verbs and classes, for completion; not the rooms, nor what this module imports."""
    return sorted(__all__)
