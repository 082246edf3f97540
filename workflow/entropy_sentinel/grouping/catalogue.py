"""The ways to compare two answers by name, and where each one's code is: a module with `make(settings)`."""

from dataclasses import dataclass

_ROOM = "entropy_sentinel.grouping"


@dataclass(frozen=True)
class Backend:
    """A way to say whether two answers mean the same; `weights` is the model on the hub that it loads unless told."""

    name: str
    meaning: str
    module: str
    weights: str | None = None


BACKENDS: dict[str, Backend] = {
    one.name: one
    for one in (
        Backend(
            "exact",
            "the same text up to case, punctuation, articles and space, or names of one right answer; needs no weights",
            f"{_ROOM}.exact",
        ),
        Backend(
            "nli",
            "each entails the other, by a classifier of natural language inference (Kuhn et al., 2023)",
            f"{_ROOM}.nli",
            "microsoft/deberta-v2-xlarge-mnli",
        ),
        Backend(
            "embedding",
            "the cosine of their sentence embeddings is at least `threshold`",
            f"{_ROOM}.embedding",
            "sentence-transformers/all-MiniLM-L6-v2",
        ),
    )
}
