"""The identity of a job's code: a hash of every module that its script imports, in a normal form.

Snakemake's own trigger looks at the script file alone, and at its modification time. Here a real edit anywhere in the
import closure counts, and a comment, a docstring, the layout, a touched file or another kind of error does not.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = "entropy_sentinel"
_ROOT = Path(__file__).parents[2]


def fingerprint(script: str, *more: str) -> list[str]:
    """`file hash` for a script, each module of the package that it imports, and `more`, sorted.

    `script` is a file of `workflow/scripts`, or with a slash in it a path relative to `workflow/`. `more` is what the
    imports do not show: dotted names of modules that are imported by name, with all that they import, and paths of
    files relative to the package, such as a template, whose content counts. FileNotFoundError where one is not there.

    Files are named relative to `workflow/`, hashes are 12 hex digits of SHA-256. Given to a rule as one parameter
    each, so that Snakemake's reason for a rerun names just the files that changed.
    """
    found: dict[Path, None] = {}
    waiting = [
        _ROOT / (script if "/" in script else f"scripts/{script}"),
        *(file for name in more for file in _named(name)),
    ]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting.extend(imported_modules(path))
    return sorted(f"{path.relative_to(_ROOT).as_posix()} {_hash(path)}" for path in found)


@cache
def imported_modules(path: Path) -> tuple[Path, ...]:
    """Files of the package that `path` imports anywhere in it, the packages' `__init__.py` included."""
    if path.suffix != ".py":
        return ()
    names: list[str] = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    files = [file for name in names if name.split(".")[0] == PACKAGE for file in _files(name)]
    return tuple(dict.fromkeys(files))


def _named(name: str) -> list[Path]:
    """The files behind one of `more`."""
    if not name.startswith(f"{PACKAGE}."):
        return [_ROOT / PACKAGE / name]
    path = _ROOT.joinpath(*name.split("."))
    if not path.with_suffix(".py").is_file() and not (path / "__init__.py").is_file():
        raise FileNotFoundError(f"{name}: the package has no such module")
    return _files(name)


def _files(module: str) -> list[Path]:
    """The module's file and the `__init__.py` of the packages around it; none for a name inside a module."""
    path = _ROOT.joinpath(*module.split("."))
    parts = module.split(".")
    around = [_ROOT.joinpath(*parts[:end], "__init__.py") for end in range(1, len(parts))]
    candidates = [*around, path.with_suffix(".py"), path / "__init__.py"]
    return [candidate for candidate in candidates if candidate.is_file()]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def _hash(path: Path) -> str:
    content = normal_form(_tree(path)).encode() if path.suffix == ".py" else path.read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


def normal_form(node: object) -> str:
    """A syntax tree as text without docstrings, comments, layout, or anything that differs between Pythons.

    The description of a key of the config is left out as a docstring is: `Field(..., description="...")`.
    Fields that are None or empty are left out: later Pythons add such fields to old nodes. So are classes of errors
    without behaviour: a name for what went wrong changes no result.
    """
    if isinstance(node, list):
        return f"[{','.join(normal_form(item) for item in node if not _is_name_of_an_error(item))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name, value in sorted(ast.iter_fields(node)):
        if name == "body" and isinstance(value, list):
            value = [statement for statement in value if not _is_docstring(statement)]
        if name == "keywords" and getattr(getattr(node, "func", None), "id", None) == "Field":
            value = [keyword for keyword in value if keyword.arg != "description"]
        if value is not None and value != []:
            fields.append(f"{name}={normal_form(value)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _is_docstring(statement: ast.stmt) -> bool:
    """A string that stands alone has no effect, wherever it stands."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_name_of_an_error(node: object) -> bool:
    """An empty class over errors alone; over another class, as in `class Kept(dict)`, it has that one's behaviour."""
    return (
        isinstance(node, ast.ClassDef)
        and all(isinstance(statement, ast.Pass) or _is_docstring(statement) for statement in node.body)
        and bool(node.bases)
        and all(ast.unparse(base).endswith(("Error", "Exception", "Warning")) for base in node.bases)
        and not node.decorator_list
        and not node.keywords
    )
