"""A model of the config that a server has loaded once for all benchmarks, in place of the engine in the job."""

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study import generation_settings
from entropy_sentinel.engines.generation import VllmSettings
from entropy_sentinel.frames.errors import ConfigError


def served_settings(config: Config, model: str) -> VllmSettings:
    """`generation_settings` of a model; ConfigError for one that is unknown or has no weights."""
    if model not in config.models:
        raise ConfigError(f"no model '{model}'; known: {', '.join(config.models)}")
    settings = generation_settings(config, model, "")
    if settings["engine"] != "vllm":
        raise ConfigError(f"models.{model}: must have 'id' or 'path' to be served, has '{settings['engine']}'")
    return settings


def config_snippet(config: Config, model: str, base_url: str) -> str:
    """What a further config file must say for this server to answer in the place of the engine, with the same seeds."""
    # What the server was started with cannot be set for an API as well.
    given = config.models[model].model_dump(include={"id", "path", "lora", "template_date"})
    lines = [f"    {key}: null" for key, value in given.items() if value is not None]
    if revision := served_settings(config, model)["revision"]:
        lines.append(f"    revision: '{revision}'  # of the weights that the server has")
    api = f"    api: {{model: hosted_vllm/{model}, base_url: '{base_url}'}}"
    return "\n".join(["# For one more --configfile, once the server is up:", "models:", f"  {model}:", *lines, api])
