"""Packages of the extras, and how a test makes sure that nothing imports them."""

from collections.abc import Iterable
from pathlib import Path

# Packages of the extras, and what comes with them.
BLOCKED = ("vllm", "torch", "litellm", "tenacity", "datasets", "huggingface_hub", "snakemake", "matplotlib", "seaborn")
BLOCKED += ("pandas", "math_verify", "transformers", "tabulate", "PIL", "openai", "aiohttp", "requests")


def block_packages(folder: Path, names: Iterable[str]) -> None:
    """Write modules to a folder for the beginning of PYTHONPATH, whose import is an error that says so."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.py").write_text("raise ImportError(f'{__name__} is blocked')")
