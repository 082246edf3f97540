"""Check the options of a monitor without an estimator, whose accuracies rest on labels or second opinions."""

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.formatting.text_format import format_list
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.monitor_options import MonitorOptions

# Kinds of alerts that are about estimates.
_OF_ESTIMATES = (AlertKind.DROP, AlertKind.UNFAMILIAR, AlertKind.CONTRADICTED, AlertKind.OUTSIDE_SUPPORT)
# Options that are about an estimator, and what holds without one.
_OF_ESTIMATORS = {
    "reference": "a change is one of its estimates; fit one (`fit`), or leave out {reference}",
    "same_model": "without one, responses of all models count; {by} tells them apart",
    "any_model": "without one, responses of all models count; {by} tells them apart",
    "any_logprobs": "without one, responses count whatever their log-probabilities",
}


def check_labelled_options(settings: MonitorOptions) -> None:
    """Raise ConfigError without labels and witnesses, and for an option that needs an estimator."""
    if settings.labels is None and settings.judged is None:
        raise ConfigError(
            "labels: must be given without an estimator, because accuracies then rest on labels "
            f"({format_option('labels', placeholder='FILE')}; `sample` chooses the responses to label). Or name an "
            "estimator's file before the logs"
        )
    if kinds := [kind.slug for kind in _OF_ESTIMATES if settings.has_kind(kind)]:
        raise ConfigError(
            f"alert_on: {format_list(kinds, len(kinds))} needs an estimator, which follows the accuracy "
            "between labels; "
            f"fit one (`fit`). Without one, {format_option('fail_below')} compares the accuracies that labels show"
        )
    for name, consequence in _OF_ESTIMATORS.items():
        if getattr(settings, name):
            options = {"reference": format_option("reference"), "by": format_option("by", "model")}
            raise ConfigError(f"{name}: needs an estimator: {consequence.format_map(options)}")
