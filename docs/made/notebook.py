"""Run the cells of a notebook and store their outputs in it, as Jupyter does.

`PYTHONPATH=docs python -m made.notebook docs/monitor.ipynb` writes the outputs. The working folder is the notebook's,
as in Jupyter.
"""

import argparse
import ast
import contextlib
import io
import os
from pathlib import Path
from typing import Any

import nbformat


def main() -> None:
    """Read the notebook from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=Path)
    path = parser.parse_args().notebook.absolute()
    notebook = nbformat.read(path, as_version=4)
    os.chdir(path.parent)
    run(notebook)
    nbformat.write(notebook, path)


def run(notebook: Any) -> dict[str, Any]:
    """Run the code cells in order, store their outputs in the cells, and return the names that they define."""
    names: dict[str, Any] = {}
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), start=1):
        cell.execution_count, cell.outputs = number, _outputs(cell.source, number, names)
    return names


def _outputs(source: str, number: int, names: dict[str, Any]) -> list[Any]:
    """What a cell prints and, if its last line is an expression, the value of that line."""
    code = ast.parse(source, f"cell {number}")
    last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append(nbformat.v4.new_output("stream", name="stdout", text=printed.getvalue()))
    if value is not None:
        shown = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_()
        outputs.append(nbformat.v4.new_output("execute_result", data=shown, execution_count=number))
    return outputs


if __name__ == "__main__":
    main()
