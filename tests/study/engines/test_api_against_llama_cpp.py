"""The engine behind an API on a real llama.cpp server, where one is installed: `llama-server` and a GGUF file.

LLAMA_SERVER names the program where it is not on the PATH, LLAMA_GGUF the file of a small chat model.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from api_engines import engine
from fake_api import quiet_litellm, user
from serving import free_port, serving

from entropy_sentinel.core.errors import ConfigError

PROGRAM = shutil.which(os.environ.get("LLAMA_SERVER", "llama-server"))
WEIGHTS = os.environ.get("LLAMA_GGUF", "")

pytestmark = [
    quiet_litellm,
    pytest.mark.long,
    pytest.mark.skipif(PROGRAM is None, reason="no llama-server on the PATH, and LLAMA_SERVER names none"),
    pytest.mark.skipif(not Path(WEIGHTS).is_file(), reason="LLAMA_GGUF names no GGUF file of a chat model"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server with two slots answers, which draws as it does without options."""
    port, log = free_port(), tmp_path_factory.mktemp("llama") / "server.log"
    command = [str(PROGRAM), "-m", WEIGHTS, "--port", str(port), "-c", "2048", "--parallel", "2"]
    with serving(command, log, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/v1"


DRAWN = {"temperature": 0.5, "top_p": 1.0, "max_tokens": 6}
DECLARED = DRAWN | {"top_k": 40, "min_p": 0.05}


def test_it_is_refused_until_the_study_says_how_it_draws(address: str) -> None:
    with pytest.raises(ConfigError, match=r"llama.cpp would sample with top_k 40, min_p 0.05, .* --top-k 0 --min-p 0"):
        list(engine(address, timeout_s=600, sampling=DRAWN).answer([user("What is 7 + 5?")], [1]))


def test_temperature_does_not_move_its_log_probabilities(address: str) -> None:
    """Greedy and hot: the first step is of the same context, and its 20 are the same."""
    first = []
    for temperature in (0.0, 1.5):
        asked = engine(address, timeout_s=600, sampling=DECLARED | {"temperature": temperature})
        ((_, response),) = asked.answer([user("What is 7 + 5?")], [2**62 + 5])
        n_tokens = len(response.token_logprobs)
        assert 1 <= n_tokens <= 6
        assert response.top_logprobs.shape == (n_tokens, 20)
        assert len(response.tokens) == len(response.token_ids) == n_tokens
        assert response.finish_reason in ("stop", "length")
        first.append(response.top_logprobs[0])
    np.testing.assert_allclose(first[0], first[1], atol=1e-2)


def test_only_the_prompt_that_is_too_long_is_refused(address: str) -> None:
    given = dict(
        engine(address, timeout_s=600, sampling=DECLARED).answer([user("What is 7 + 5?"), user("word " * 5000)], [1, 2])
    )
    assert given[1].finish_reason.startswith("refused: ")
    assert given[0].text


def test_plain_text_is_continued(address: str) -> None:
    ((_, response),) = engine(address, timeout_s=600, sampling=DECLARED).answer(["1, 2, 3, 4, 5,"], [1])
    assert response.text
    assert response.top_logprobs.shape == (len(response.token_ids), 20)
    assert response.prompt_tokens < 30  # no chat template around it
