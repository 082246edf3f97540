"""GGUF files, which llama.cpp loads and vLLM does not: what to do with one that is given as a model's weights."""

from pathlib import Path

END = ".gguf"
# Weights that vLLM loads.
_OTHERS = ("*.safetensors", "*.bin", "*.pt")


def gguf_instead_of_weights(path: str) -> str | None:
    """What a model's path must be, where it is a GGUF file or a folder whose weights are such files; None elsewhere."""
    given = Path(path)
    if given.suffix.lower() == END:
        found = f"'{path}' is a GGUF file"
    elif files := sorted(file.name for file in given.glob("*") if file.suffix.lower() == END):
        if any(any(given.glob(pattern)) for pattern in _OTHERS):
            return None
        found = f"'{path}' holds a GGUF file alone, '{files[0]}'"
    else:
        return None
    return (
        f"must be a folder of safetensors with a config.json; {found}: make such a folder of it with Transformers, or "
        "serve it with llama.cpp and name the server with 'api' in place of 'path' (docs/inputs.md, 'A GGUF file')"
    )
