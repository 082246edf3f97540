"""Options in messages as the reader sets them: `--top-k 5` of a command, `top_k=5` of a function in Python."""

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

Value = str | int | float | Sequence[str] | None

# Whether a command runs; a process runs one at a time, and its threads write messages, too.
_commands: list[bool] = []


@contextmanager
def naming_command_options() -> Iterator[None]:
    """Within this block, messages are for the user of a command."""
    _commands.append(True)
    try:
        yield
    finally:
        _commands.pop()


def format_option(name: str, value: Value = None, *, placeholder: str = "", function: str = "") -> str:
    """An option by its name, such as `any_model`, in the spelling of the command or the argument.

    Args:
        name: The argument in Python; the command has dashes in it.
        value: The value to set; True for a switch, several for an option that is repeated.
        placeholder: Instead of a value, what the value is, such as FILE.
        function: The function that has the argument, if it is not the one that was called.
    """
    text = _format_for_command(name, value, placeholder) if _commands else _format_for_python(name, value, placeholder)
    return f"{function}(..., {text})" if function and not _commands else text


def _format_for_command(name: str, value: Value, placeholder: str) -> str:
    """An option as a command's user types it: `--top-k 5`."""
    option = f"--{name.replace('_', '-')}"
    if value is None or value is True:
        return f"{option} {placeholder}".rstrip()
    values = [str(value)] if isinstance(value, str | int | float) else value
    return " ".join(f"{option} {shlex.quote(each)}" for each in values)


def _format_for_python(name: str, value: Value, placeholder: str) -> str:
    """An option as an argument in Python: `top_k=5`."""
    if value is None:
        return f"{name}=..." if placeholder else name
    if value is True:
        return f"{name}=True"
    if isinstance(value, str | int | float):
        return f"{name}={json.dumps(value, ensure_ascii=False)}"
    values = list(value)
    return f"{name}={json.dumps(values if len(values) > 1 else values[0], ensure_ascii=False)}"
