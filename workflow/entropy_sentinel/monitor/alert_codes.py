"""The codes of a monitor's flags, alerts and notes: what each means, and what to do."""

from enum import unique

from entropy_sentinel.core.code_base import ExtensionCode, StableCode


@unique
class Flag(StableCode):
    """Flags of slices, which warn about their numbers."""

    FEW_RESPONSES = (
        "ES101",
        "few-responses",
        "few responses",
        "The slice has fewer responses with an estimate than `--min-responses`.",
        "Wait for more traffic, choose longer windows (`--window`, `--pool-windows`) or coarser slices (`--by`).",
    )
    OUTSIDE_SUPPORT = (
        "ES102",
        "outside-support",
        "outside support",
        "The token entropies of the slice's responses are unlike those of any mixture of the training domains.",
        "Label some of its responses, and fit again with them.",
    )
    EXCLUDED = (
        "ES103",
        "excluded",
        "excluded",
        "More than a tenth of the responses have no estimate, so the rest may not represent the slice.",
        "Look for the reasons in the problems of the output, and request log-probabilities for all responses.",
    )
    POOLED = (
        "ES104",
        "pooled",
        "pooled",
        "The row `(others)` contains the smallest slices.",
        "Raise `--max-slices`, or choose columns with fewer values.",
    )
    OVERRIDDEN = (
        "ES105",
        "overridden",
        "overridden",
        "The slice has responses of another model, or with other log-probabilities, than the estimator was fitted on "
        "(`--any-model`, `--any-logprobs`). The validation does not apply to them.",
        "Fit an estimator on labelled responses of this model.",
    )
    SAME_MODEL = (
        "ES106",
        "same-model",
        "same model",
        "The slice has responses of a model under a new name (`--same-model`). The wider interval rests on the "
        "assumption that the model is the same.",
        "Label some responses of the new name, or fit an estimator for it.",
    )
    TRAINING_ACCURACY = (
        "ES107",
        "training-accuracy",
        "training accuracy",
        "Most training responses were correct, or most were incorrect, so estimates of other accuracies are uncertain.",
        "Label domains with other accuracies, and fit again.",
    )
    SUPPORT_UNKNOWN = (
        "ES108",
        "support-unknown",
        "support unknown",
        "The estimator's file lacks a description of its training data, so slices outside it are not recognised.",
        "Fit the estimator again.",
    )
    NO_VALIDATION = (
        "ES109",
        "no-validation",
        "no validation",
        "The estimator's file lacks its errors on new domains, so nothing shows how far estimates may be off.",
        "Fit the estimator again.",
    )
    UNFAMILIAR = (
        "ES110",
        "unfamiliar",
        "unfamiliar",
        "The words of the slice's responses are unlike those of every labelled domain, so the estimate may be far off.",
        "Label some of its responses (`sample` puts such slices first), or ask a second opinion.",
    )
    AMBIGUOUS = (
        "ES111",
        "ambiguous",
        "ambiguous",
        "Many questions of the slice repeatedly get several answers, which may all be right.",
        "Read some of these questions; give the missing context in the prompt, or accept several answers as right.",
    )
    STALE = (
        "ES112",
        "stale",
        "stale",
        "The slice no longer has enough responses in the newest windows, so its accuracy is now unknown.",
        "Check that its traffic still arrives under this name.",
    )
    CONTRADICTED = (
        "ES113",
        "contradicted",
        "contradicted",
        "The labels of the slice contradict its estimate: their intervals do not overlap.",
        "Use the accuracy from the labels, and fit again with them.",
    )
    TRUNCATED = (
        "ES114",
        "truncated",
        "truncated",
        "More than a tenth of the slice's responses were truncated.",
        "Raise the token limit of the requests.",
    )
    RANKING_ONLY = (
        "ES115",
        "ranking-only",
        "ranking only",
        "The validation shows that estimates rank new domains, but are too far off to be used as accuracies.",
        "Use the order of the slices only, or label more domains and fit again.",
    )
    DO_NOT_USE = (
        "ES116",
        "do-not-use",
        "do not use",
        "The validation shows that estimates of new domains are too far off and do not rank them.",
        "Use labels in place of the estimates, or fit another estimator.",
    )
    TOO_FEW_DOMAINS = (
        "ES117",
        "too-few-domains",
        "too few domains to say",
        "The estimator was validated on too few labelled domains to decide whether it is usable.",
        "Label the number of further domains that the reasons name, and fit again.",
    )


@unique
class AlertKind(StableCode):
    """Kinds of alerts; the slug is the name in `--alert-on`, in files and in acknowledgements."""

    BELOW = (
        "ES301",
        "below",
        "below",
        "The slice's accuracy is below `--fail-below`, or may be, because the slice is unlike all labelled domains.",
        "Read the least certain responses on the page, and label some of them.",
    )
    DROP = (
        "ES302",
        "drop",
        "drop",
        "The slice's estimated accuracy has fallen since the reference, beyond the promised rate of false alarms.",
        "Look for what changed when it began (`--event` names known changes), and label some responses from before "
        "and after.",
    )
    UNFAMILIAR = (
        "ES303",
        "unfamiliar",
        "unfamiliar",
        "The slice is unlike every labelled domain (ES110).",
        "Label some of its responses, or ask a second opinion.",
    )
    CONTRADICTED = (
        "ES304",
        "contradicted",
        "contradicted",
        "The slice's labels contradict its estimate (ES113).",
        "Use the accuracy from the labels, and fit again with them.",
    )
    OUTSIDE_SUPPORT = (
        "ES305",
        "support",
        "support",
        "The slice is outside the estimator's training data (ES102).",
        "Label some of its responses, and fit again with them.",
    )
    TRUNCATED = (
        "ES306",
        "truncated",
        "truncated",
        "Many of the slice's responses were truncated (ES114).",
        "Raise the token limit of the requests.",
    )
    STALE = (
        "ES307",
        "stale",
        "stale",
        "The slice no longer has enough responses (ES112).",
        "Check that its traffic still arrives under this name.",
    )
    AMBIGUOUS = (
        "ES308",
        "ambiguous",
        "ambiguous",
        "Many questions of the slice repeatedly get several answers (ES111).",
        "Read some of these questions; give the missing context in the prompt, or accept several answers as right.",
    )
    UNWATCHED = (
        "ES309",
        "unwatched",
        "unwatched",
        "Traffic is not watched: responses without an estimator or without an estimate, windows without responses, or "
        "an empty slice column. The alert's `code` and `subject` name the cause.",
        "The message says what to do for each cause.",
    )


@unique
class AccuracyNote(StableCode):
    """Notes about the accuracy to use of a slice with labels or second opinions."""

    CONTRADICTS = (
        "ES401",
        "labels-contradict",
        "the labels contradict the estimate",
        "The labels contradict the estimate, so the accuracy rests on the labels (ES113).",
        "Fit again with these labels.",
    )
    WIDER = (
        "ES402",
        "labels-widen",
        "the interval with labels is wider",
        "The interval with labels is wider than without, because it assumes nothing about the slice.",
        "Label as many more responses as the note names.",
    )
    PARTNER_UNCHECKED = (
        "ES403",
        "partner-unchecked",
        "partner not checked",
        "No label shows whether the model that gave the second opinions is right more often.",
        "Label some of the responses about which it was asked.",
    )
    ASSUMED_ERRORS = (
        "ES404",
        "errors-assumed",
        "no slice has labels that show its errors",
        "No labels show the errors of the second opinion or judge, so the interval rests on an assumption.",
        "Label some responses of a few slices about which it was asked.",
    )
    FEW_ERRORS = (
        "ES405",
        "errors-hardly-known",
        "only few slices with labels show its errors",
        "Few slices with labels show the errors of the second opinion or judge, so the interval rests mostly on an "
        "assumption.",
        "Label some responses of further slices about which it was asked.",
    )


# A flag or a kind of alert, of the package or of an extension's statistic.
FlagCode = Flag | ExtensionCode
AlertCode = AlertKind | ExtensionCode
# The kinds that `alert_on` names; BELOW is on if a limit is set.
REQUESTED_KINDS = tuple(kind for kind in AlertKind if kind is not AlertKind.BELOW)
