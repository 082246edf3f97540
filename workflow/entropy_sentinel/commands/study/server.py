"""A vLLM server for a model of the config, for the API engine: it is loaded once for all benchmarks."""

import json
import sys
from typing import Any

from entropy_sentinel.config.config import Config
from entropy_sentinel.config.study import generation_settings
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.generation import TOP_K


def server_command(config: Config, model: str, host: str, port: int) -> list[str]:
    """The command that serves a model as the vLLM engine would load it, under the name that it has in the config.

    Raises ConfigError for a model that is unknown or has no weights.
    """
    settings = _settings(config, model)
    base = model if settings["lora"] is None else f"{model}-base"
    arguments = {
        "model": settings["weights"],
        "revision": None if settings["local"] else settings["revision"],
        "served_model_name": base,
        "host": host,
        "port": port,
        "max_logprobs": TOP_K,
        "logprobs_mode": "raw_logprobs",
        # Else the server mixes the sampling parameters of the model's authors (top_k, top_p) into every request.
        "generation_config": "vllm",
        "seed": settings["seed"],
        **({} if settings["lora"] is None else {"enable_lora": True, "lora_modules": [f"{model}={settings['lora']}"]}),
        **settings["engine_args"],
    }
    # The command `vllm` looks for a distribution of that name, which CPU builds do not have.
    server = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    return [*server, *(word for name, value in arguments.items() for word in flag(name, value))]


def server_environment(config: Config, model: str) -> dict[str, str]:
    """What is set for the server beside the environment that it is started in."""
    settings = _settings(config, model)
    # Where gpt-oss's prompt gets its date from on a server.
    pinned = {"VLLM_SYSTEM_START_DATE": settings["template_date"]} if settings["template_date"] else {}
    return {"OMP_NUM_THREADS": str(config.generation.threads)} | pinned | settings["environment"]


def flag(name: str, value: Any) -> list[str]:
    """A keyword argument of vllm.LLM as words of the server's command line."""
    option = name.replace("_", "-")
    if value is None:
        return []
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, list | tuple):
        return [f"--{option}", *map(str, value)]
    return [f"--{option}", json.dumps(value) if isinstance(value, dict) else str(value)]


def config_snippet(config: Config, model: str, base_url: str) -> str:
    """What a further config file must say for this server to answer in the place of the engine, with the same seeds."""
    # What the server was started with cannot be set for an API as well.
    given = config.models[model].model_dump(include={"id", "path", "lora", "template_date"})
    lines = [f"    {key}: null" for key, value in given.items() if value is not None]
    if revision := _settings(config, model)["revision"]:
        lines.append(f"    revision: '{revision}'  # of the weights that the server has")
    api = f"    api: {{model: hosted_vllm/{model}, base_url: '{base_url}'}}"
    return "\n".join(["# For one more --configfile, once the server is up:", "models:", f"  {model}:", *lines, api])


def _settings(config: Config, model: str) -> dict[str, Any]:
    """`generation_settings` of a model that has weights."""
    if model not in config.models:
        raise ConfigError(f"no model '{model}'; known: {', '.join(config.models)}")
    settings = generation_settings(config, model, "")
    if settings["engine"] != "vllm":
        raise ConfigError(f"models.{model}: must have 'id' or 'path' to be served, has '{settings['engine']}'")
    return settings
