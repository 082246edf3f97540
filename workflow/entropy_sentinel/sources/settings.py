"""Where questions come from: the config's section `benchmarks`."""

import re
import string
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from entropy_sentinel.frames.sections import Settings

# What a format string may have in braces: a column, `{column}`, or a part of one by key or index, `{column[part]}`.
FIELD = re.compile(r"([^\[\].{}]+)((?:\[[^\[\]{}]+\])*)")


class Benchmark(Settings):
    """One benchmark: where its rows are and which columns hold question and reference.

    `question` and `reference` are format strings over the row's columns, `{column}`; of several, the first whose
    columns are all filled is taken. Without `reference` the answers are not labelled, and accuracy is estimated alone.
    """

    dataset: str | None = Field(None, description="Hugging Face id of the data set")
    configs: list[str] = Field([], description="configurations of the data set, read one after the other")
    split: str = Field("test", description="split of the data set")
    revision: str | None = Field(None, description="commit, tag or branch of the data set")
    path: str | None = Field(None, description="local file instead: .jsonl, .csv, .parquet, also .gz")
    question: list[str] = Field(min_length=1, description="format strings of the question")
    reference: list[str] = Field([], description="format strings of the reference answer; none: it has no references")
    reference_after: str | None = Field(None, description="keep what follows the last of this mark in the reference")
    only_if_empty: list[str] = Field([], description="drop rows in which one of these columns (pictures) is filled")
    limit: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="items of this benchmark, in place of the study's `limit`"
    )
    expected_items: int | None = Field(None, description="published count; another count is a warning")

    @field_validator("question", "reference")
    @classmethod
    def _formats_name_columns(cls, templates: list[str]) -> list[str]:
        for template in templates:
            try:
                fields = [parts[1:] for parts in string.Formatter().parse(template) if parts[1] is not None]
            except ValueError as error:
                raise ValueError(f"'{template}' is no format string: {error}") from None
            if not fields or any(not FIELD.fullmatch(name) or spec or conversion for name, spec, conversion in fields):
                raise ValueError(f"'{template}' must name columns, each as {{column}}, or parts, as {{column[part]}}")
        return templates

    @model_validator(mode="after")
    def _one_source(self) -> "Benchmark":
        if (self.dataset is None) == (self.path is None):
            raise ValueError("needs exactly one of 'dataset' (a Hugging Face id) and 'path' (a local file)")
        if self.revision is not None and self.path is not None:
            raise ValueError("'revision' goes with 'dataset'; leave it out, or set it to null")
        return self
