"""The config of a model behind llama.cpp's server: the key `llama` in the section `models`."""

from collections.abc import Callable, Set
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from entropy_sentinel.core.section_base import Number, Settings, Text, Whole
from entropy_sentinel.llm_client.server_settings import check_address
from entropy_sentinel.study.engines.engine_interface import Engine
from entropy_sentinel.study.engines.generation_section import AskedSettings
from entropy_sentinel.study.engines.model_base import Model


class LlamaServer(Settings):
    """A llama.cpp server, asked by its own protocol. No response depends on these keys."""

    UNTRACKED: ClassVar[Set[str]] = {"url", "concurrency", "timeout_s", "retries"}

    url: Text = Field(description="address of the server: http://localhost:8080")
    concurrency: Whole = Field(4, ge=1, le=1024, description="requests at a time, the server's --parallel")
    timeout_s: Number = Field(600, gt=0, le=86_400, description="longest pause of the server in one reply, seconds")
    retries: Whole = Field(6, ge=0, le=100, description="further tries after 429, 5xx and lost connections")

    @model_validator(mode="after")
    def _address_holds_no_secret(self) -> "LlamaServer":
        check_address("url", self.url)
        return self


class LlamaModel(Model):
    """A model behind llama.cpp's server."""

    kind: ClassVar[Literal["llama"]] = "llama"
    ENGINE: ClassVar[str] = "llama"
    VERSION: ClassVar[int] = 1

    llama: LlamaServer = Field(description="a llama.cpp server")
    revision: Text = Field(description="version of the weights, such as the SHA-256 of the file; a change asks again")

    @classmethod
    def load(cls) -> Callable[[Any, int], Engine]:
        """See `Model.load`."""
        from native_engine.engine import make

        return make

    @property
    def server(self) -> LlamaServer:
        """See `Model.server`."""
        return self.llama

    def engine_settings(self) -> dict[str, Any]:
        """See `Model.engine_settings`."""
        return {"revision": self.revision}


class LlamaSettings(AskedSettings):
    """The settings that responses of this engine depend on."""

    revision: str
