"""The features of a response by name: the built-in ones, then those of extensions. And the columns of their files.

`CATALOGUE` gives the columns of frames, the names in the config, titles and signs.
"""

import re

import polars as pl

from entropy_sentinel.core import extensions, registry_entries
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.features.feature_declaration import BOUND, CAPTURED, Feature, H, X
from entropy_sentinel.features.hashed_tokens import SCHEMA as BUCKET_SCHEMA
from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.generation_schema import GENERATIONS, LOGPROBS, UNUSABLE
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS

# A step is open if all tokens outside the top k have more than this probability.
OPEN_MASS = 0.01
# The number of last tokens of a response for its end's mean entropy.
LAST_TOKENS = 10

# Facts about a response other than its features; estimators see them only on request.
EXTRAS: dict[str, Feature] = {
    extra.name: extra
    for extra in (
        Feature(
            "max_position",
            "Position of max",
            "the position of the largest H(t), from 0 among the tokens that the features use",
            "1",
            H(X.arg_max().cast(pl.Float64)),
        ),
        Feature(
            "last_entropy",
            "SE end",
            f"mean of H(t) over the last {LAST_TOKENS} tokens",
            "nats",
            H(X.tail(LAST_TOKENS).mean()),
        ),
        Feature(
            "captured_mass",
            "Captured mass",
            "mean probability of a step's top k together",
            "1",
            CAPTURED(X.mean()),
            confident=True,
        ),
        Feature(
            "open_steps",
            "Open steps",
            f"share of steps whose top k leave more than {OPEN_MASS} to other tokens",
            "1",
            CAPTURED((1 - X > OPEN_MASS).mean()),
        ),
        Feature(
            "entropy_error_bound",
            "SE error bound",
            "mean bound on the part of the full-vocabulary entropy that H(t) omits; null if its size is unknown",
            "nats",
            BOUND(X.mean()),
        ),
    )
}

# The words of a response (`features.hashed_tokens`), which tell unfamiliar slices; null in files of earlier versions.
WORD_COLUMNS = (
    Column("buckets", BUCKET_SCHEMA["buckets"], "hashes of the response's words", nullable=True, added=True),
    Column("buckets_of", BUCKET_SCHEMA["buckets_of"], "what they are of: tokens or words", nullable=True, added=True),
)

# The columns of a file of features, without the features.
_BEFORE = (
    *RESPONSE_COLUMNS,
    Column("n_tokens", pl.UInt32, "length of the response", "tokens"),
    Column(
        "displaced_steps", pl.UInt32, "steps whose entropy may lack a term (schemas/generation_schema.py)", "tokens"
    ),
    Column("finish_reason", pl.String, "`stop` if the response is complete (schemas/generation_schema.py)"),
)
_AFTER = (
    Column("trace_tokens", pl.UInt32, "tokens that the features use: all, or those after the thinking", "tokens"),
    Column("cut_off", pl.Boolean, "whether the response was truncated (schemas/generation_schema.py)"),
    *(extra.column for extra in EXTRAS.values()),
    Column("clamped_tokens", pl.UInt32, "sampled tokens whose log-probability was -inf or <= -9999", "tokens"),
    Column("reason", pl.String, "why the features are null; null if there are features", nullable=True),
    *WORD_COLUMNS,
)
# Columns of responses that no feature replaces: of this file, of traces, and of the files that take features up.
RESERVED_NAMES = frozenset(
    {
        *(column.name for column in (*_BEFORE, *_AFTER)),
        *GENERATIONS.schema,
        *LOGPROBS,
        UNUSABLE,
        *("split", "label", "label_reason", "kind", "domain", "feature_reason"),
    }
)


def _load_features() -> dict[str, Feature]:
    """The features that modules declare; raises ConfigError for an invalid one."""
    features = registry_entries.load_entries("features", Feature)
    for name in features:
        where = extensions.get_module_name("features", name)
        # The name becomes part of estimator names, and so of file names.
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ConfigError(f"{where}: a feature's name must be like `a_name`, got '{name}'")
        if not isinstance(features[name].expression, pl.Expr):
            raise ConfigError(f"{where}: the feature '{name}' must have a Polars expression")
        if name in RESERVED_NAMES:
            raise ConfigError(f"{where}: the feature '{name}' needs another name: it is another column of a response")
    return features


CATALOGUE: dict[str, Feature] = _load_features()
FEATURES: tuple[str, ...] = tuple(CATALOGUE)
FEATURE_FRAME = Contract(
    stage="features",
    open=True,
    key=RESPONSE,
    columns=(*_BEFORE, *(feature.column for feature in CATALOGUE.values()), *_AFTER),
)

# The paper's feature sets. New features do not join them.
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "17d": FEATURES[:17],
    "10d": FEATURES[:10],
    "3d": ("max", "se_sum", "nll_sum"),
    "1d": ("se_sum",),
}
