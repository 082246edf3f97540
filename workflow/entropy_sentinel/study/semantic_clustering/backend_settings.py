"""Settings for comparing answers: backends by name with their weights, and keys that config sections share."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from pydantic import Field, model_validator

from entropy_sentinel.core.section_base import Number, Positive, Revision, Settings, Text

_ROOM = "entropy_sentinel.study.semantic_clustering"


@dataclass(frozen=True)
class BackendEntry:
    """A backend, which decides whether two answers mean the same; `weights` is its default model on the hub.

    `module` has a function `make`, which returns it (`Backend`).
    """

    name: str
    meaning: str
    module: str
    weights: str | None = None


BACKENDS: dict[str, BackendEntry] = {
    backend.name: backend
    for backend in (
        BackendEntry(
            "exact",
            "the same text up to case, punctuation, articles and space, or names of one right answer; needs no weights",
            f"{_ROOM}.exact_backend",
        ),
        BackendEntry(
            "nli",
            "each entails the other, by a classifier of natural language inference (Kuhn et al., 2023)",
            f"{_ROOM}.nli_backend",
            "microsoft/deberta-v2-xlarge-mnli",
        ),
        BackendEntry(
            "embedding",
            "the cosine of their sentence embeddings is at least `threshold`",
            f"{_ROOM}.embedding_backend",
            "sentence-transformers/all-MiniLM-L6-v2",
        ),
    )
}


class WeightsSettings(TypedDict):
    """The weights of a job: a `path` with the hash of its content as `revision`, or a `model` on the hub.

    `revisions` is the folder that records the commit of each id that a study uses.
    """

    model: str | None
    path: str | None
    revision: str | None
    revisions: str
    batch_size: int


class GroupingSettings(WeightsSettings):
    """A job's settings for comparing answers."""

    backend: str
    threshold: float


class TextModel(Settings):
    """A text model on Transformers."""

    model: Text | None = Field(None, description="its Hugging Face id; null for the default")
    path: Text | None = Field(None, description="a folder with its weights, instead of an id")
    revision: Revision | None = Field(None, description="commit, tag or branch of the id")
    batch_size: Positive = Field(64, le=4096, description="texts, or pairs of texts, per batch")

    @model_validator(mode="after")
    def _check_weights(self) -> "TextModel":
        if self.path is not None and (self.model or self.revision):
            raise ValueError("'path' excludes 'model' and 'revision'; set these to null, or 'path'")
        return self

    @property
    def weights(self) -> str | None:
        """The id on the hub; None for a folder, or if no weights are needed."""
        return None if self.path else self.model or self.usual

    @property
    def usual(self) -> str | None:
        """The id that `model: null` stands for."""
        raise NotImplementedError


class Grouping(TextModel):
    """Which answers to a question mean the same."""

    backend: Literal["exact", "nli", "embedding"] = Field(
        "exact",
        description="when two answers mean the same. "
        + "; ".join(f"{backend.name}: {backend.meaning}" for backend in BACKENDS.values()),
    )
    model: Text | None = Field(
        None,
        description="Hugging Face id of the classifier or encoder; null for the default: "
        + ", ".join(f"{backend.weights} ({backend.name})" for backend in BACKENDS.values() if backend.weights),
    )
    threshold: Number = Field(
        0.8, ge=-1, le=1, description="embedding: smallest cosine at which two answers are equivalent"
    )

    @property
    def usual(self) -> str | None:
        """The backend's default id."""
        return BACKENDS[self.backend].weights
