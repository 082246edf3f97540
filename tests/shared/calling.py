"""Calls of the command in this process."""

import pytest

from entropy_sentinel.cli.main import main


def run(capsys: pytest.CaptureFixture, *arguments: object) -> tuple[int, str, str]:
    """Exit status, output and errors of a call."""
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return end.value.code or 0, printed.out, printed.err
