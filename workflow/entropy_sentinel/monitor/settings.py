"""The options of `monitor` and of `sample`, and the file that `workflow/monitor.smk` reads."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema

from entropy_sentinel.frames.options import Panel, Shown
from entropy_sentinel.frames.sections import Number, Seed, Settings, Text, Whole
from entropy_sentinel.monitor.reading.settings import Reading, Slicing
from entropy_sentinel.sources.logs.settings import FormatOptions

# What an alert can be about: BELOW where a limit is given, the others where they are asked for.
BELOW, DROP, OUTSIDE, STALE, AMBIGUOUS = "below", "drop", "support", "stale", "ambiguous"
# Flags of statistics by their words; written out, for their catalogue takes longer to import than a help text may.
Kind = Literal["drop", "support", "cut-off", "stale", "ambiguous"]
ALERTS = get_args(Kind)

# What may be overridden, and is then said in every output.
MODEL, LOGPROBS = "model", "logprobs"

Level = Annotated[
    Number,
    Field(gt=0, lt=1, description="Level of the intervals."),
    Shown(Panel.SLICES, "SHARE"),
]
# A verb takes a frame of labels too.
Labels = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}]})]
Patterns = Annotated[
    list[Text],
    BeforeValidator(
        lambda given: [given] if isinstance(given, str) else given, json_schema_input_type=Text | list[Text]
    ),
]


class EstimateOptions(Slicing):
    """What `estimate` can be asked, as a command and as a verb."""

    level: Level = 0.9
    min_responses: Annotated[Whole, Shown(Panel.SLICES, "N")] = Field(
        30, ge=1, description="A slice with fewer is flagged."
    )


class MonitorOptions(Reading):
    """What `monitor` can be asked, as a command, as a verb and in a workflow. Adding an option is a field here."""

    level: Level = 0.9
    min_responses: Annotated[Whole, Shown(Panel.SLICES, "N")] = Field(
        30,
        ge=1,
        description="With fewer, a slice is flagged and is no alert, and windows before the newest are pooled with it.",
    )
    pool_windows: Annotated[Whole, Shown(Panel.SLICES, "N")] = Field(
        14,
        ge=1,
        le=10_000,
        description="Where the newest window of a slice has too few responses, so many windows at most count together; "
        "1 for none.",
    )
    max_slices: Annotated[Whole, Shown(Panel.SLICES, "N")] = Field(
        1000, ge=1, description='Slices that are kept; smaller ones are pooled as "(others)".'
    )
    fail_below: Annotated[Number | None, Shown(Panel.ALERTS, "ACCURACY")] = Field(
        None, gt=0, le=1, description="An estimated accuracy below it is an alert."
    )
    alert_on: Annotated[tuple[Kind, ...], Shown(Panel.ALERTS)] = Field(
        (),
        description="What else is an alert: a drop since the reference, a slice outside the estimator's support, one "
        "with many responses that are cut off, one that had enough responses once and has no more, one with many "
        "questions that get several answers again and again.",
    )
    least_drop: Annotated[Number, Shown(Panel.ALERTS, "SHARE")] = Field(
        0.02, ge=0, le=1, description="A smaller fall is no drop."
    )
    responses: Annotated[Whole, Shown(Panel.FILES, "N")] = Field(
        0,
        ge=0,
        le=10_000,
        description="Responses of each slice with an alert, those least likely to be correct, that are read again from "
        "their logs for the page, with their texts; 0 for none.",
    )
    labels: Annotated[Labels | None, Shown(Panel.READING, "FILE", "-l", several=True)] = Field(
        None,
        description="Labels of some responses, as `sample` asks for them: .csv, .jsonl or .parquet with item_id, label "
        "and weight, how many responses each stands for.",
    )
    labels_at_random: Annotated[bool, Shown(Panel.READING)] = Field(
        False, description="All responses were as likely to be labelled: the labels need no weight."
    )

    def model_post_init(self, context: Any) -> None:
        """ValueError for what does not go together."""
        super().model_post_init(context)
        if DROP in self.alert_on and self.reference is None:
            raise ValueError(
                "alert_on: a drop is one since a reference; say which (--reference 2026-11-01..2026-11-07)"
            )


class SampleOptions(FormatOptions, Slicing):
    """What `sample` can be asked, as a command and as a verb."""

    budget: Annotated[Whole, Shown(Panel.SLICES, "N", "-n")] = Field(
        100, ge=1, le=10**9, description="How many responses to label in all."
    )
    per_slice: Annotated[Whole, Shown(Panel.SLICES, "N")] = Field(
        5, ge=0, le=10**9, description="Labels that every slice gets, however small."
    )
    seed: Annotated[Seed, Shown(Panel.SLICES, "N")] = Field(42, description="Another one chooses other responses.")
    level: Level = 0.9


class MonitorFile(Settings):
    """The config of `workflow/monitor.smk`."""

    estimator: Text = Field(description="a file that `fit` or a study has written")
    logs: Patterns = Field(description="files and patterns of logs, each of which is a part")
    folder: Text = Field(description="where everything goes")
    options: MonitorOptions = Field(MonitorOptions(), description="those of the verb `monitor`")
