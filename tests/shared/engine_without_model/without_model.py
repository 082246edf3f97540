"""An engine that needs no model."""

import ctypes
import os
import signal
import time
from pathlib import Path

import numpy as np

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.engine_interface import Response

# Names a file: as long as it is there, no engine has loaded.
HELD = "ENGINE_WITHOUT_MODEL_HELD"


class EngineWithoutModel:
    """Answers with its process, its GPUs and what it is asked with; a chat may say what becomes of it."""

    provenance = {"engine": "none", "engine_version": "0", "logprobs_mode": "raw_logprobs"}
    vocabulary = 7

    def __init__(self, settings, threads):
        if settings["weights"] == "refused":
            raise ConfigError("models.tiny: no such weights")
        if settings["weights"] == "broken":
            raise RuntimeError("no memory")
        time.sleep(settings["engine_args"].get("load_s", 0))
        while HELD in os.environ and Path(os.environ[HELD]).exists():
            time.sleep(0.1)
        self.settings = settings

    def replace_settings(self, settings):
        self.settings = settings
        return self

    def answer(self, chats, seeds):
        for position, (chat, seed) in enumerate(zip(chats, seeds, strict=True)):
            self._act(chat if isinstance(chat, str) else chat[-1]["content"])
            devices = os.environ.get("CUDA_VISIBLE_DEVICES", "")
            yield position, response(f"{os.getpid()} {devices} {self.settings['sampling']} {chat} {seed}")

    def _act(self, chat):
        act, _, value = chat.partition(" ")
        if act == "sleep":
            time.sleep(float(value))
        elif act == "count":
            with Path(value).open("a") as asked:
                asked.write("asked\n")
        elif act == "die" and not Path(value).exists():
            Path(value).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        elif act == "always-die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif act == "fork":
            Path(value).write_text(str(titled_child()))
        elif act == "refuse":
            raise ConfigError(value)

    def next_tokens(self, contexts):
        yield from ((number, context.tolist()) for number, context in enumerate(contexts))

    def token_ids(self, texts):
        return [[len(text)] for text in texts]

    def under_way(self):
        return [3, 4]


def titled_child():
    """Fork a process without an environment that can be read: setproctitle, which vLLM uses, writes over it."""
    child = os.fork()
    if child:
        return child
    start, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[47:49])
    ctypes.memset(start, 0, end - start)
    time.sleep(100)
    os._exit(0)


def response(text):
    steps = np.full((1, TOP_K), -np.log(TOP_K), np.float32)
    return Response("0" * 16, 1, text, "stop", steps[:, 0], steps)
