"""The function of the package, or of an extension, that a job calls."""

import ast
import re
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError

# What each job offers its function, besides what the rule names.
_JOB_ARGUMENTS = {"files", "output", "outputs", "folder", "threads"}
# Parameters of `calls` (common.smk), which only Snakemake reads.
_SNAKEMAKE_PARAMS = re.compile("call|declared|code_.*")


class _Parameters(NamedTuple):
    """The parameters of a function: those without a default and those with one, and whether it has `**inputs`.

    A decorator may change them.
    """

    required: list[str]
    optional: list[str]
    accepts_any_input: bool
    is_decorated: bool


def check_function(function: str) -> None:
    """Raise ConfigError if the function that a rule names does not exist; its module is not imported."""
    _find_definition(function)


def check_rule(rule: Any, function: str) -> None:
    """Raise ConfigError unless a rule of Snakemake gives `function` what it takes, and names nothing else.

    Unnamed inputs are mere dependencies; unnamed params only trigger reruns.
    """
    parameters = _find_definition(function)
    if parameters.is_decorated:
        return
    required, optional = parameters.required, parameters.optional
    inputs, outputs, params = list(rule.input.keys()), list(rule.output.keys()), list(rule.params.keys())
    offered = {*_JOB_ARGUMENTS, *rule.wildcard_names, *inputs, *params, *outputs, *map(_name_output, outputs)}
    missing = [name for name in required if name not in offered]
    if any("unpack" in getattr(file, "flags", ()) for file in rule.input):
        missing = []  # each job names its own inputs
    accepted_names = {*required, *optional}
    unknown = []
    if not parameters.accepts_any_input and "files" not in accepted_names:
        unknown = [name for name in inputs if name not in accepted_names]
    unknown += [name for name in params if name not in accepted_names and not _SNAKEMAKE_PARAMS.fullmatch(name)]
    if not accepted_names & {"output", "outputs", "folder"}:  # otherwise the function finds all outputs
        unknown += [name for name in outputs if not accepted_names & {name, _name_output(name)}]
    problems = [f"the rule has no input, output, parameter or wildcard '{name}'" for name in missing]
    problems += [f"the function has no parameter '{name}'" for name in unknown]
    if problems:
        call = f"{function}({', '.join([*required, *optional])})"
        advice = " (what the job only waits for, or is only compared, needs no name)" if unknown else ""
        raise ConfigError(
            f"rule '{rule.name}' ({rule.snakefile}): its job cannot call {call}: {'; '.join(problems)}{advice}"
        )


def _find_definition(function: str) -> _Parameters:
    """The parameters of a function; raises ConfigError if it does not exist."""
    module, _, name = function.rpartition(".")
    try:
        spec = find_spec(extensions.qualify_name(module)) if module else None
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.origin:
        raise ConfigError(f"calls(\"{function}\"): there is no module '{module}'")
    definitions = _read_definitions(spec.origin)
    if name not in definitions:
        near = get_close_matches(name, definitions, n=1)
        advice = f"; did you mean '{near[0]}'?" if near else ""
        raise ConfigError(f"calls(\"{function}\"): {spec.origin} has no function '{name}'{advice}")
    return definitions[name]


@cache
def _read_definitions(file: str) -> dict[str, _Parameters]:
    """The parameters of a module's functions by their names."""
    tree = ast.parse(Path(file).read_text("utf-8"))
    return {node.name: _read_parameters(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


def _read_parameters(function: ast.FunctionDef) -> _Parameters:
    arguments = function.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    # Python has the defaults of the last positional parameters only.
    n_required = len(positional) - len(arguments.defaults)
    required, optional = positional[:n_required], positional[n_required:]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is None:
            required.append(argument.arg)
        else:
            optional.append(argument.arg)
    return _Parameters(required, optional, arguments.kwarg is not None, bool(function.decorator_list))


def _name_output(name: str) -> str:
    """The name of an output for a function that has an input of the same name."""
    return f"{name}_output"


def call_function(job: Any) -> None:
    """Call the function that the rule names in `call`, such as `study.stages.feature_stage.write_features`.

    An extension's function has its full name, such as `mine.tables.write_tables`.

    `job` is the object that Snakemake passes to a script. Each parameter of the function gets the rule's item of the
    same name: an input, output (also as `NAME_output`), parameter or wildcard. `files` gets all inputs, `output` the
    first output, `outputs` all of them, `folder` the folder of the first, `threads` their number; `**inputs` all named
    inputs.
    """
    module, _, name = job.params.call.rpartition(".")
    function = getattr(extensions.import_by_name(module), name)
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
        **{_name_output(name): path for name, path in outputs.items()},
        **dict(job.params.items()),
    }
    arguments: dict[str, Any] = {}
    for parameter in signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments = inputs | arguments
        elif parameter.name in offered:
            arguments[parameter.name] = offered[parameter.name]
    function(**arguments)
