"""A syntax tree as text, in a form in which only what can change a result counts."""

import ast


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
