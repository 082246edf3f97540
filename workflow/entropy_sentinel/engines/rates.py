"""What a study takes: the config's section `rates`, from which a model may differ."""

from pydantic import Field

from entropy_sentinel.frames.sections import Number, Settings


class Rates(Settings):
    """What `entropy-sentinel plan` reckons with, for models that do not set their own; no result depends on it."""

    tokens_per_response: Number = Field(600, gt=0, le=1e9, description="mean length of a response, tokens")
    bytes_per_token: Number = Field(80, gt=0, le=1e9, description="disk that a trace takes, bytes")
    tokens_per_s: Number = Field(
        2500, ge=1e-3, le=1e9, description="speed of one generate job, log-probabilities included"
    )
    contexts_per_s: Number = Field(
        1000,
        ge=1e-3,
        le=1e9,
        description="speed of one job in which a model is asked again about its responses, contexts",
    )
    engine_start_s: Number = Field(90, ge=0, le=1e9, description="start of an engine, seconds")
    gpu_usd_per_h: Number = Field(2.5, ge=0, le=1e9, description="price of one GPU-hour")
    judge_usd_per_response: Number = Field(
        0, ge=0, le=1e9, description="price of one label, where its judge has no prices of its own"
    )
    tokens_per_judgement: Number = Field(
        300, gt=0, le=1e9, description="mean length of the reply of a judge behind a server, reasoning included, tokens"
    )
    estimate_cpu_s: Number = Field(
        5, ge=0, le=1e9, description="CPU-seconds of one model and training group, all configurations"
    )
