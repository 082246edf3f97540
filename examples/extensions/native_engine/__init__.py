"""Models behind a server with a protocol of its own: llama.cpp's `/completion`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.study.engines.model_base import Model


def models() -> "dict[str, type[Model]]":
    """The kind of model."""
    from native_engine.settings import LlamaModel

    return {"llama": LlamaModel}
