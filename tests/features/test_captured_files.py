"""Files of captured features that are damaged or of something else."""

import gzip
from pathlib import Path

import pytest

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_files import CAPTURED, read_feature_batches


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "recursion"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "recursion"),
        (b'{"mean": 1.0}\n5\n', "line 2 must be a JSON object, is int"),
        (b'"x"\n', "line 1 must be a JSON object, is str"),
        (b"null\n", "line 1 must be a JSON object, is NoneType"),
        (b"[1]\n", "line 1 must be a JSON object, is list"),
        (b'{"mean": "x"}\n', "type: str"),
        (b"\xff", "utf-8"),
    ],
)
def test_what_is_no_feature_is_an_error(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / f"a{CAPTURED}"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(InputError, match=rf"(?s)a{CAPTURED}: cannot be read as captured features.*{words}"):
        list(read_feature_batches(path))
