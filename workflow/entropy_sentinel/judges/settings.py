"""Who labels: the config's section `judges`."""

from typing import Literal

from pydantic import Field, model_validator

from entropy_sentinel.frames.sections import Settings


class Judge(Settings):
    """Who decides whether a response is correct."""

    kind: Literal["math-verify", "file"] = Field(
        description="math-verify: symbolic comparison of the final answer; file: labels made elsewhere"
    )
    path: str | None = Field(None, description="file: folder with the labels, {model}/{benchmark}.parquet")

    @model_validator(mode="after")
    def _path_goes_with_file(self) -> "Judge":
        if (self.kind == "file") != (self.path is not None):
            raise ValueError("needs 'path' (a folder of labels) with kind 'file', and only with it")
        return self
