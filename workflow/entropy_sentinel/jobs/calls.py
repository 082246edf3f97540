"""The function of the package, or of an extension, that a job calls."""

import ast
from difflib import get_close_matches
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from entropy_sentinel.frames import extensions
from entropy_sentinel.frames.errors import ConfigError


def check(function: str) -> None:
    """Raise ConfigError if the function that a rule names does not exist; its module is not imported."""
    module, _, name = function.rpartition(".")
    try:
        found = find_spec(extensions.full_name(module)) if module else None
    except ModuleNotFoundError:
        found = None
    if found is None or not found.origin:
        raise ConfigError(f"calls(\"{function}\"): there is no module '{module}'")
    tree = ast.parse(Path(found.origin).read_text("utf-8"))
    known = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if name not in known:
        near = "".join(f"; did you mean '{one}'?" for one in get_close_matches(name, known, n=1))
        raise ConfigError(f"calls(\"{function}\"): {found.origin} has no function '{name}'{near}")


def call(job: Any) -> None:
    """Call the function that the rule names in its parameter `call`, such as `stages.feature.write_features`.

    An extension's function has its full name, such as `mine.tables.write_tables`.

    `job` is the object that Snakemake passes to a script. Each parameter of the function gets the rule's item of the
    same name: an input, output (also as `NAME_output`), parameter or wildcard. `files` gets all inputs, `output` the
    first output, `outputs` all of them, `folder` the folder of the first, `threads` their number; `**inputs` all named
    inputs.
    """
    module, _, name = job.params.call.rpartition(".")
    function = getattr(extensions.imported(module), name)
    inputs, outputs = dict(job.input.items()), dict(job.output.items())
    offered = {
        "files": job.input,
        "output": job.output[0],
        "outputs": job.output,
        "folder": str(Path(job.output[0]).parent),
        "threads": job.threads,
        **dict(job.wildcards.items()),
        **inputs,
        **outputs,
        **{f"{name}_output": path for name, path in outputs.items()},
        **dict(job.params.items()),
    }
    parameters = signature(function).parameters.values()
    arguments = {parameter.name: offered[parameter.name] for parameter in parameters if parameter.name in offered}
    further = inputs if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters) else {}
    function(**further | arguments)
