"""Kinds of problems of reading, with stable codes.

Problems, ES200 to ES249, mean that some of the logs could not be used. Notes, ES250 to ES299, say something that users
should know although everything was used. In `words`, `{subject}`, `{value}` and `{expected}` are fields of the record
(`problems.Problem`), and OPTIONS_IN_WORDS are options; the first word is a plural.
"""

from enum import unique

from entropy_sentinel.core.code_base import StableCode
from entropy_sentinel.logs.log_summary import EQUAL_NOTE, REPLACED_NOTE, TWICE_NOTE

# Options that `words` name, such as `{where}`, in the spelling of the command or of Python; `{set_cluster}` sets one.
OPTIONS_IN_WORDS = ("by", "same_model", "timezone", "where")


@unique
class ProblemKind(StableCode):
    """What could not be used, or what users should know."""

    UNREADABLE_RECORD = (
        "ES201",
        "unreadable-record",
        "records that cannot be read",
        "A record of a log has no known format, or is damaged; the line names the first ones and why.",
        "Correct the records, or name the column with the server's reply (--reply).",
    )
    DAMAGED_FILE = (
        "ES202",
        "damaged-file",
        "files that are damaged and were read only in part",
        "A file ends early or cannot be unpacked; what could be read counts.",
        "Copy the file again, and give it again.",
    )
    TIME_MISSING = (
        "ES203",
        "time-missing",
        "responses without a time",
        "The column of the time is empty, so the responses are in no window.",
        "Name the column of the time with --time.",
    )
    TIME_UNREADABLE = (
        "ES204",
        "time-unreadable",
        "responses with an unreadable time",
        "The time is neither ISO 8601 nor seconds or milliseconds since 1970.",
        "Write times as ISO 8601.",
    )
    TIME_IMPLAUSIBLE = (
        "ES205",
        "time-implausible",
        "responses with a time before {subject} or after {value}",
        "The clock that wrote the time was wrong, or the column has something else.",
        "Correct the clock, or name the column of the time with --time.",
    )
    OTHER_MODEL = (
        "ES206",
        "other-model",
        "responses of model '{subject}'",
        "The responses are of another model than the estimator's, so they are left out.",
        "Fit an estimator of this model, skip them (--where), or use them (--same-model, --any-model).",
    )
    OTHER_LOGPROBS = (
        "ES207",
        "other-logprobs",
        "responses of {subject} {value}, not {expected}",
        "The responses have another kind or number of log-probabilities than the estimator's training data.",
        "Cut the alternatives (--top-k), skip the responses (--where), or use them (--any-logprobs).",
    )
    NO_FEATURES = (
        "ES208",
        "no-features",
        "responses without features: {subject}",
        "No feature can be computed from these responses, so they have no estimate.",
        "The line says what to do about the reason.",
    )
    NO_ESTIMATOR = (
        "ES209",
        "no-estimator",
        "responses of model '{subject}' not watched: no estimator",
        "With several estimators, responses of other models are left out.",
        "Give an estimator of this model too, or name the models to watch (--where model=NAME).",
    )
    UNNAMED_MODELS = (
        "ES210",
        "unnamed-models",
        "responses of further models, or without a model name, not watched: no estimator",
        "With several estimators, responses without a model's name are left out.",
        "Give an estimator of these models too, or name the models to watch (--where model=NAME).",
    )
    IN_TWO_PARTS = (
        "ES211",
        "in-two-parts",
        "responses that are in two parts and count twice; a single run over the files counts them once",
        "Two states of parts contain the same responses, and sums cannot be subtracted.",
        "Run once over the files.",
    )
    EARLIER_PROBLEM = (
        "ES248",
        "earlier-version-problem",
        "{subject}",
        "An earlier version recorded this problem in the state, in words.",
    )
    FURTHER_PROBLEMS = ("ES249", "further-problems", "other problems", "Further kinds of problems, counted together.")

    SERVER_REFUSED = (
        "ES250",
        "server-refused",
        "responses that the server refused",
        "The server did not answer these requests, so there is nothing to estimate.",
    )
    NO_ANSWER = (
        "ES251",
        "no-answer",
        "responses without features: {subject}",
        "The responses have no tokens, or none after the thinking, so there is nothing to estimate.",
    )
    SKIPPED_RECORD = (
        "ES252",
        "skipped-record",
        "records skipped: {subject}",
        "Records without a response, such as requests or metadata.",
    )
    REPLACED_ATTEMPT = (
        "ES253",
        "replaced-attempt",
        REPLACED_NOTE,
        "A retried evaluation has a log for each attempt; the newest one counts.",
    )
    LOGGED_TWICE = (
        "ES254",
        "logged-twice",
        TWICE_NOTE,
        "The log repeats these responses.",
    )
    EQUAL_RESPONSE = (
        "ES255",
        "equal-response",
        EQUAL_NOTE,
        "Without ids, a repeated response cannot be told from a second answer that is equal.",
        "If exports overlap, give one of them.",
    )
    LEFT_OUT = (
        "ES256",
        "left-out",
        "responses left out by {where}: {subject} '{value}'",
        "The option --where leaves out responses with this value.",
    )
    LEFT_OUT_WITHOUT_VALUE = (
        "ES257",
        "left-out-without-value",
        "responses left out by {where}: without {subject}",
        "The option --where leaves out responses without a value of this column.",
    )
    LEFT_OUT_VALUES = (
        "ES258",
        "left-out-values",
        "responses left out by {where}: other values of {subject}",
        "The option --where leaves out responses with further values, counted together.",
    )
    UNNAMED_MODEL = (
        "ES259",
        "unnamed-model",
        "responses without a model name, assumed to be from '{subject}'",
        "The log does not name the model, so the estimator's is assumed.",
        "Name the model with --model.",
    )
    TIME_STEP_BACK = (
        "ES260",
        "time-step-back",
        "responses more than an hour earlier than the response above",
        "A clock was corrected, or logs were joined; the windows are right if the times are.",
    )
    TIME_WITHOUT_ZONE = (
        "ES261",
        "time-without-zone",
        "responses whose time states no zone, taken for UTC; name the zone with {timezone} if it is another",
        "A time without a zone is read as UTC.",
        "Name the zone with --timezone if it is another.",
    )
    IN_ANOTHER_FILE = (
        "ES262",
        "in-another-file",
        "duplicates across files, counted once",
        "Files overlap.",
    )
    SHARED_ID = (
        "ES263",
        "shared-id",
        "responses with the same id as a different one in another file; both count",
        "Two different responses have one id, such as places in a file.",
    )
    STATISTIC_UNKNOWN = (
        "ES264",
        "statistic-unknown",
        "files read by an earlier version, so '{subject}' is unknown for the slices; give the files again to compute "
        "it",
        "An earlier version did not record this statistic, or defined it otherwise.",
        "Give the files again.",
    )
    OTHER_SAME_MODEL = (
        "ES265",
        "other-same-model",
        "files read with another {same_model}; give the files again to apply it to their responses",
        "The files have responses of models that this run counts differently.",
        "Give the files again.",
    )
    REPEATS_UNKNOWN = (
        "ES266",
        "repeats-unknown",
        "files read by an earlier version, so repeated questions in them are unknown; give the files again to "
        "recognise them",
        "An earlier version did not record which responses have the same request.",
        "Give the files again.",
    )
    NO_REQUEST = (
        "ES267",
        "no-request",
        "responses without their request: repeated questions among them are not recognised, and the promise about "
        "false alarms assumes that all questions differ",
        "The log has no requests, so equal questions cannot be recognised.",
        "Log the requests, or name a column with --cluster.",
    )
    NO_CLUSTER = (
        "ES268",
        "no-cluster",
        "responses without a value of '{subject}', which count as independent",
        "The column of --cluster is empty for these responses.",
    )
    CONVERSATIONS = (
        "ES269",
        "conversations",
        "columns with conversations ({subject}): responses of one conversation depend on each other; with "
        "{set_cluster}, intervals and alarms allow for that",
        "A column of the log seems to name conversations.",
        "Name it with --cluster.",
    )
    LABEL_UNMATCHED = (
        "ES270",
        "label-unmatched",
        "labels without a usable response",
        "No estimated response has the id of these labels.",
        "Give the logs of the labelled responses, and labels with their ids.",
    )
    TRAINING_UNKNOWN = (
        "ES271",
        "training-unknown",
        "labels that may have trained the estimator, which its file does not record: the accuracies from labels are "
        "then not right on average, and their intervals too narrow; fit it again (`entropy-sentinel fit`)",
        "The estimator's file does not say which responses trained it.",
        "Fit the estimator again.",
    )
    LABELS_TRAINED = (
        "ES272",
        "labels-trained",
        "labels in slices whose labels trained the estimator and were too few to fit it without them: P(correct) does "
        "not count there, only the labels",
        "The labelled responses trained the estimator and have no prediction by another one.",
    )
    SILENT_MODEL = (
        "ES273",
        "silent-model",
        "models without a response",
        "An estimator's model has no response in the logs.",
    )
    SLICES_ARE_FILES = (
        "ES274",
        "slices-are-files",
        "slices that are files of one log, such as its days, rather than kinds of questions; other columns for {by}: "
        "{subject}",
        "The slices are the files of a log.",
        "Name another column with --by.",
    )
    EARLIER_NOTE = (
        "ES298",
        "earlier-version-note",
        "{subject}",
        "An earlier version recorded this note in the state, in words.",
    )
    FURTHER_NOTES = ("ES299", "further-notes", "other problems", "Further kinds of notes, counted together.")

    @property
    def is_note(self) -> bool:
        """Whether users should know this although nothing is left unused."""
        return self.number >= "ES250"
