"""Extensions: where they are named, what counts as one, and the line about one that cannot be loaded."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from extended import extension, printed, ran

from entropy_sentinel.core.extensions import KINDS, VARIABLE

# What a process finds outside this repository. The package declares no benchmarks, so this imports nothing.
FOUND = """
import json
from pathlib import Path
from entropy_sentinel.core import extensions

here = Path(extensions.__file__).parents[3]
print(json.dumps({
    "names": list(extensions.load_declarations("benchmarks")),
    "roots": {name: str(file) for name, file in extensions.find_roots().items() if here not in file.parents},
    "failures": [line for line in extensions.list_failures() if f"extension '{here}" not in line],
}))
"""
NOTHING: dict[str, Any] = {"names": [], "roots": {}}


def declaring(*names: str) -> str:
    return f"def benchmarks():\n    return {dict.fromkeys(names, 1)}\n"


def found(folder: Path, *extensions: object, path: tuple[Path, ...] = (), use: Any = None) -> dict[str, Any]:
    """What a process in `folder` finds with extensions in the variable, in PYTHONPATH and in a config's key."""
    code = (
        FOUND
        if use is None
        else f"from entropy_sentinel.core.extensions import add_extensions\nadd_extensions({use!r})\n{FOUND}"
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*sys.path, *map(str, path)]),
        VARIABLE: os.pathsep.join(map(str, extensions)),
    }
    command = [sys.executable, "-P", "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failure(folder: Path, *extensions: object, **options: Any) -> str:
    """The only line about an extension of which nothing is found."""
    result = found(folder, *extensions, **options)
    [line] = result.pop("failures")
    assert result == NOTHING
    return line


def refused(folder: Path, names: object) -> str:
    """The error of a config's key `extensions`."""
    done = ran(folder, f"from entropy_sentinel.core.extensions import add_extensions\nadd_extensions({names!r})")
    *_, error = done.stderr.splitlines()
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: extensions: ")
    return error


def installed(site: Path, module: str, **files: str) -> Path:
    """A distribution that is installed in the folder `site`, with an entry point, as pip leaves it."""
    metadata = site / "mine_dist-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-dist\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[entropy_sentinel]\nmine = {module}\n")
    for name, text in files.items():
        file = site / name.replace("__in__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".py").write_text(text)
    return site


def test_an_installed_distribution_is_found_by_its_entry_point(tmp_path: Path) -> None:
    site = installed(tmp_path / "site", "mine", mine__in____init__=declaring("a"))
    assert found(tmp_path, path=(site,)) == {
        "names": ["a"],
        "roots": {"mine": str(site / "mine" / "__init__.py")},
        "failures": [],
    }


def test_a_single_module_and_a_module_of_a_package_are_extensions(tmp_path: Path) -> None:
    site = installed(tmp_path / "site", "alone", alone=declaring("a"))
    assert found(tmp_path, path=(site,))["roots"] == {"alone": str(site / "alone.py")}
    inner = installed(
        tmp_path / "inner", "mine.door", mine__in____init__="", mine__in__door=declaring("b"), mine__in__other=""
    )
    result = found(tmp_path, path=(inner,))
    assert result["names"] == ["b"]
    # All of the package is the extension's code.
    assert result["roots"] == {"mine": str(inner / "mine" / "__init__.py")}
    spaces = installed(tmp_path / "spaces", "us.mine", us__in__mine__in____init__=declaring("c"))
    assert found(tmp_path, path=(spaces,))["roots"] == {"us.mine": str(spaces / "us" / "mine" / "__init__.py")}


def test_a_folder_is_named_by_the_variable_with_any_path(tmp_path: Path) -> None:
    folder = extension(tmp_path / "mine", declaring("a"))
    for name in (folder, "mine", f"{folder}/", f"./mine{os.sep}", folder.parent / "." / "mine"):
        result = found(tmp_path, name)
        assert result["names"] == ["a"], name
        assert result["roots"] == {"mine": str(folder / "__init__.py")}
    spaced = tmp_path / "with spaces"
    spaced.mkdir()
    assert found(tmp_path, extension(spaced / "mine", declaring("b")))["names"] == ["b"]


def test_a_config_names_folders_and_modules(tmp_path: Path) -> None:
    extension(tmp_path / "mine", declaring("a"))
    site = extension(tmp_path / "site", declaring("unused"))
    (site / "pack").mkdir()
    (site / "pack" / "__init__.py").write_text("")
    (site / "pack" / "door.py").write_text(declaring("b"))
    result = found(tmp_path, path=(site,), use=["mine/", "pack.door"])
    assert result["names"] == ["a", "b"]
    assert list(result["roots"]) == ["mine", "pack"]


def test_an_extension_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    site = installed(tmp_path / "site", "mine", mine__in____init__=declaring("a"))
    folder = site / "mine"
    result = found(tmp_path, folder, "mine", f"{folder}/", path=(site,), use=[str(folder), "mine"])
    assert (result["names"], result["failures"]) == (["a"], [])


def test_the_packages_of_an_extension_declare_too(tmp_path: Path) -> None:
    """A package may have the name of a function, which it replaces as an attribute when it is imported."""
    inner = {"benchmarks": declaring("b"), "deep": "", "deep/er": declaring("c")}
    folder = extension(tmp_path / "mine", declaring("a"), alone=declaring("not found"))
    for name, text in inner.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(text)
    result = found(tmp_path, folder)
    assert (result["names"], result["failures"]) == (["a", "b", "c"], [])


@pytest.mark.parametrize(
    ("init", "place", "facts"),
    [
        ("import nothing_there\n", "mine/__init__.py:1", ("ModuleNotFoundError", "'nothing_there'")),
        ("x = 1\ndef f(:\n", "mine/__init__.py:2", ("SyntaxError", "invalid syntax")),
        ("from mine import inner\n", "mine/inner.py:2", ("KeyError", "'k'")),
        ("\n\nraise SystemExit(3)\n", "mine/__init__.py:3", ("SystemExit", "3")),
        ("import json\njson.loads('{')\n", "mine/__init__.py:2", ("JSONDecodeError",)),
        ("", "mine/__init__.py", ("declares nothing", *KINDS)),
        ("x = 1\ndef judge():\n    return {}\n", "mine/__init__.py:2", ("`judge()`", "`judges()`")),
        ("judges = {}\n", "mine/__init__.py", ("`judges`", "must be a function")),
    ],
)
def test_an_extension_that_cannot_be_loaded_is_named_with_its_line(
    tmp_path: Path, init: str, place: str, facts: tuple[str, ...]
) -> None:
    folder = extension(tmp_path / "mine", init, inner="def f():\n    raise KeyError('k')\nf()\n")
    line = failure(tmp_path, folder)
    assert line.startswith(f"extension '{folder}' was not loaded: {tmp_path / place}: ")
    for fact in facts:
        assert fact in line


@pytest.mark.parametrize(
    ("body", "place", "facts"),
    [
        ("return [1]", "mine/__init__.py:2", ("TypeError", "[1]")),
        ("return {1: 2}", "mine/__init__.py:2", ("TypeError", "{1: 2}")),
        ("pass", "mine/__init__.py:2", ("TypeError", "None")),
        ("1 / 0", "mine/__init__.py:3", ("ZeroDivisionError",)),
        ("exit(0)", "mine/__init__.py:3", ("SystemExit: exit(0)", "end the whole process")),
        ("raise BaseException('b')", "mine/__init__.py:3", ("BaseException: b",)),
        ("import mine.inner", "mine/inner.py:1", ("ModuleNotFoundError", "'nothing_there'")),
    ],
)
def test_a_function_that_fails_is_named_with_its_line_and_the_others_count(
    tmp_path: Path, body: str, place: str, facts: tuple[str, ...]
) -> None:
    folder = extension(tmp_path / "mine", f"\ndef benchmarks():\n    {body}\n", inner="import nothing_there\n")
    result = found(tmp_path, folder, extension(tmp_path / "other", declaring("a")))
    [line] = result["failures"]
    assert line.startswith(f"extension 'mine': benchmarks() failed: {tmp_path / place}: ")
    for fact in facts:
        assert fact in line
    assert result["names"] == ["a"]
    assert list(result["roots"]) == ["mine", "other"]


def test_functions_that_only_look_misspelt_are_left_alone(tmp_path: Path) -> None:
    init = declaring("a") + "def benchmark():\n    pass\ndef model(name):\n    pass\ndef _models():\n    pass\n"
    assert found(tmp_path, extension(tmp_path / "mine", init))["failures"] == []


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    assert failure(tmp_path, tmp_path / "bare").endswith("must be a folder with a file __init__.py")
    assert failure(tmp_path, tmp_path / "bare", use=["bare"]).startswith(f"extension '{tmp_path / 'bare'}' was not")
    assert "no_such_module" in failure(tmp_path, "no_such_module")
    assert str(tmp_path / "absent") in failure(tmp_path, tmp_path / "absent")
    for name in ("a" * 300, f"/{'b' * 300}"):
        assert f"extension '{name}' was not loaded: " in failure(tmp_path, name)
    # As a module: a folder on Python's path is a package without a file.
    assert "__init__.py" in failure(tmp_path, path=(installed(tmp_path / "site", "bare", bare__in__x=""),))


@pytest.mark.parametrize("name", ["json", "pytest", "entropy_sentinel"])
def test_a_folder_with_the_name_of_another_module_shadows_nothing(tmp_path: Path, name: str) -> None:
    folder = extension(tmp_path / name, declaring("a"))
    line = failure(tmp_path, folder)
    assert f"another module has this name: {os.path.dirname(sys.modules.get(name, json).__file__ or '')}" in line or (
        name != "json" and f"{name}{os.sep}__init__.py" in line
    )
    code = f"{FOUND}\nimport {name}\nassert {name}.__file__ != {str(folder / '__init__.py')!r}"
    assert ran(tmp_path.parent, code, folder).returncode == 0


def hidden(folder: Path, *extensions: object, **options: Any) -> str:
    """The error about a folder whose name another extension has."""
    with pytest.raises(AssertionError) as failed:
        found(folder, *extensions, **options)
    *_, error = str(failed.value).partition("ConfigError: ")
    return error


def test_a_folder_is_not_replaced_by_an_installed_copy(tmp_path: Path) -> None:
    """Whoever works on the folder would see the results of the copy."""
    site = installed(tmp_path / "site", "mine", mine__in____init__=declaring("a"))
    folder = extension(tmp_path / "mine", declaring("b"))
    for options in ({"use": ["mine"]}, {"use": ["./mine/"]}):
        error = hidden(tmp_path, path=(site,), **options)
        assert error.startswith(
            f"extensions: the folder {folder} cannot be used, because {site / 'mine' / '__init__.py'} is "
        )
        assert "Uninstall" in error
    assert str(folder) in hidden(tmp_path, folder, path=(site,))
    # An editable installation leads to the folder.
    linked = installed(tmp_path / "linked", "mine")
    assert found(tmp_path, folder, path=(linked, tmp_path))["names"] == ["b"]


def test_two_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    places = []
    for number, place in enumerate(("one", "two")):
        (tmp_path / place).mkdir()
        places.append(extension(tmp_path / place / "mine", declaring(f"j{number}")))
    assert hidden(tmp_path, *places).startswith(
        f"extensions: the folder {places[1]} cannot be used, because {places[0] / '__init__.py'} is an extension of "
    )


def test_a_folder_with_the_name_of_a_part_of_the_package_is_refused(tmp_path: Path) -> None:
    """A job's function is named below the package or in full: `study.stages.label_stage.write_labels`."""
    assert "another" in failure(tmp_path, extension(tmp_path / "judges", declaring("a")))


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        ("mine", ("list", "'mine'")),
        ({"mine": 1}, ("list", "{'mine': 1}")),
        (3, ("list", "3")),
        ([3], ("list", "[3]")),
        ([""], ("''",)),
        (["absent/mine"], ("'absent/mine'", "absent/mine")),
        (["./mine.py"], ("'./mine.py'",)),
        (["mine.py"], ("'mine.py'",)),
        (["with spaces"], ("with spaces", "rename")),
        (["half-names"], ("half-names", "rename")),
        ([f"a{os.pathsep}b/mine"], (f"a{os.pathsep}b/mine", f"'{os.pathsep}'")),
        (["."], ("contains the working folder",)),
        (["../work"], ("contains the working folder",)),
        (["../../above"], ("contains the working folder",)),
    ],
)
def test_a_wrong_key_of_a_config_is_refused(tmp_path: Path, names: object, facts: tuple[str, ...]) -> None:
    work = tmp_path / "above" / "work"
    for name in ("with spaces", "half-names", f"a{os.pathsep}b/mine"):
        (work / name).mkdir(parents=True)
        (work / name / "__init__.py").write_text(declaring("a"))
    (work / "mine.py").write_text(declaring("a"))
    error = refused(work, names)
    for fact in facts:
        assert fact in error


# Errors of all kinds of declarations in one process.
TWICE = """
import json
from entropy_sentinel.core import extensions

errors = {}
for kind in extensions.KINDS:
    try:
        extensions.load_declarations(kind)
    except extensions.ConfigError as error:
        errors[kind] = str(error)
print(json.dumps(errors))
"""
# A name of the package's by kind; it declares no benchmarks.
BUILT_IN = {
    "analyses": "accuracy",
    "signals": "digits",
    "features": "ppl",
    "estimators": "forest",
    "judges": "llm",
    "models": "api",
    "formats": "openai",
    "statistics": "ambiguous_share",
    "outputs": "webhook",
    "prompts": "solve-step-by-step",
    "judge_prompts": "corresponds",
    "commands": "plan",
}


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The error of two extensions that declare the same name, by kind."""
    return errors_of(tmp_path_factory.mktemp("twice"), dict.fromkeys(KINDS, "twin"), "one", "two")


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The error of an extension that declares a name of the package's, by kind."""
    return errors_of(tmp_path_factory.mktemp("taken"), BUILT_IN, "one")


def errors_of(folder: Path, names: Mapping[str, str], *extensions: str) -> dict[str, str]:
    """The errors of extensions that declare a name of each kind; some kinds need the catalogues of others."""
    found: dict[str, str] = {}
    for needing in (True, False):
        kinds = [kind for kind in names if (kind in ("estimators", "commands")) == needing]
        init = "".join(f"def {kind}():\n    return {{{names[kind]!r}: 1}}\n" for kind in kinds)
        (folder / str(needing)).mkdir()
        made = [extension(folder / str(needing) / name, init) for name in extensions]
        errors = printed(folder, TWICE, *made)
        found |= {kind: errors[kind] for kind in kinds}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_extensions_that_declare_one_name_are_both_named(twice: dict[str, str], kind: str) -> None:
    for fact in (
        f"'twin' in {kind}()",
        *(f"{name} (" for name in ("one", "two")),
        "one/__init__.py",
        "two/__init__.py",
    ):
        assert fact in twice[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", BUILT_IN)
def test_an_extension_that_declares_a_name_of_the_packages_is_named(taken: dict[str, str], kind: str) -> None:
    for fact in (
        f"'{BUILT_IN[kind]}' in {kind}()",
        "entropy_sentinel.",
        "entropy_sentinel/",
        "one (",
        "one/__init__.py",
    ):
        assert fact in taken[kind]


CATALOGUES = {
    "analyses": "study.config.study_config",
    "signals": "signal_families.signal_registry",
    "features": "features.feature_registry",
    "estimators": "estimators.estimator_registry",
    "judges": "judges.judge_registry",
    "models": "study.engines.engine_registry",
    "formats": "logs.format_registry",
    "statistics": "monitor.slice_columns",
    "outputs": "monitor.showing.output_registry",
    "prompts": "study.engines.engine_registry",
    "judge_prompts": "judges.judge_registry",
    "benchmarks": "study.config.config_loading as one; one.add_declared_benchmarks({})",
    "commands": "cli.main",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["3", "int"])
def test_a_declaration_of_another_type_is_named_with_its_file(tmp_path: Path, kind: str, value: str) -> None:
    folder = extension(tmp_path / "mine", f"def {kind}():\n    return {{'wrong': {value}}}\n")
    done = ran(tmp_path, f"import entropy_sentinel.{CATALOGUES[kind]}", folder)
    *_, error = done.stderr.splitlines()
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: ")
    assert f"mine ({folder / '__init__.py'}): {kind}(): 'wrong' must be " in error
