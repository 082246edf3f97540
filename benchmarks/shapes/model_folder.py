"""Writes the model folder of a shape, at its published size or scaled down."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shapes.made_up_tokenizer import write_tokenizer

_HERE = Path(__file__).parent
# A scaled-down model has the full vocabulary, and these instead of its own.
# Keys of a model with an encoder of pictures that its language model alone has, too.
_SHARED = (
    "dtype",
    "transformers_version",
    "tie_word_embeddings",
    "quantization_config",
    "bos_token_id",
    "eos_token_id",
)
_LAYERS, _HEADS, _WIDTH, _EXPERTS, _POSITIONS = 2, 2, 128, 4, 8192


@cache
def load_shapes() -> dict[str, dict[str, Any]]:
    """Load the published facts by the models' names in config.yaml."""
    shapes: dict[str, dict[str, Any]] = yaml.safe_load((_HERE / "published.yaml").read_text())
    return shapes


def build_config(
    name: str, *, scaled_down: bool = False, text_only: bool = False, quantized: bool = True
) -> dict[str, Any]:
    """Return the config.json of a shape.

    Args:
        name: The model's name.
        scaled_down: Leave two layers of a small width, and the full vocabulary.
        text_only: Leave out the encoder of pictures, if the model has one.
        quantized: Keep the weights' published number format, which vLLM cannot compute with on most CPUs.
    """
    config: dict[str, Any] = json.loads(json.dumps(load_shapes()[name]["config"]))  # without the YAML's shared parts
    # The version keeps Transformers from taking any large vocabulary for one of Mistral's.
    config |= {"dtype": "bfloat16", "transformers_version": "5.0.0"}
    if text_only and "text_config" in config:
        architecture = {"architectures": [load_shapes()[name]["text_architecture"]]}
        config = {key: value for key, value in config.items() if key in _SHARED} | config["text_config"] | architecture
    if not quantized:
        config.pop("quantization_config", None)
    if scaled_down:
        _scale_down(text_config(config))
        if "vision_config" in config:
            _scale_down(config["vision_config"])
    return config


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a config.json that describes the language model."""
    part: dict[str, Any] = config.get("text_config", config)
    return part


def _scale_down(part: dict[str, Any]) -> None:
    """Leave two layers of a small width, with the same size of a head and the same kinds of layers."""
    heads = part["num_attention_heads"]
    # Rotary factors are stated for this size of a head.
    width = _WIDTH if "head_dim" in part else _HEADS * part["hidden_size"] // heads
    is_grouped = part.get("num_key_value_heads", heads) < heads
    part |= {
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "hidden_size": width,
        "intermediate_size": _WIDTH,
    }
    if "num_key_value_heads" in part:
        part["num_key_value_heads"] = 1 if is_grouped else _HEADS
    if "max_position_embeddings" in part:
        # Tables of rotations for 131,072 positions would take seconds of the CPU.
        part["max_position_embeddings"] = _POSITIONS
        for rotation in (part.get("rope_scaling", {}), part.get("rope_parameters", {})):
            if "original_max_position_embeddings" in rotation:
                rotation["original_max_position_embeddings"] = int(_POSITIONS // rotation["factor"])
    if "num_local_experts" in part:
        part["num_local_experts"] = _EXPERTS
    if "sliding_window_pattern" in part or "layer_types" in part:
        part["layer_types"] = ["sliding_attention", "full_attention"]


def write_model_folder(name: str, folder: Path, **changes: bool) -> Path:
    """Write a model folder without weights and return it; `changes` are those of `build_config`."""
    shape, config = load_shapes()[name], build_config(name, **changes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": shape["end_tokens"]}))
    templates = yaml.safe_load((_HERE / "chat_templates.yaml").read_text())
    size, template = text_config(config)["vocab_size"], templates[shape["template"]]
    write_tokenizer(folder, size, shape["special"], template, shape["end_tokens"][0])
    return folder
