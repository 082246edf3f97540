"""The identity of a job's code: what counts as an edit, and how far imports reach."""

import ast

import pytest

from entropy_sentinel.jobs.fingerprint import fingerprint, normal_form

CODE = '''
"""Module."""
def f(x, *, y=1):
    """Function."""
    return {**x, "a": [y]} if x else f"{y}!"
'''


def form(code: str) -> str:
    return normal_form(ast.parse(code))


@pytest.mark.parametrize(
    "edited",
    [
        CODE.replace("Function.", "Another text."),
        CODE.replace("    return", "    # why\n\n    return"),
        CODE.replace('{**x, "a": [y]}', "{\n        **x,\n        'a': [y],\n    }"),
        CODE.replace('    """Function."""\n', ""),
    ],
)
def test_docstrings_comments_and_layout_do_not_count(edited: str) -> None:
    assert edited != CODE
    assert form(edited) == form(CODE)


@pytest.mark.parametrize(
    "edited",
    [CODE.replace("y=1", "y=2"), CODE.replace("*, ", ""), CODE.replace('"a"', '"b"'), CODE.replace("!", "?")],
)
def test_code_and_strings_count(edited: str) -> None:
    assert form(edited) != form(CODE)


def test_normal_form_leaves_out_what_later_pythons_add() -> None:
    node = ast.parse("def f(): pass")
    before = normal_form(node)
    node.body[0].type_params = []  # Python 3.12 has this field on every function
    node.body[0].type_comment = None
    assert normal_form(node) == before


def test_closure_follows_imports_through_layers() -> None:
    files = [entry.split()[0] for entry in fingerprint("feature.py")]
    assert "scripts/feature.py" in files
    assert "entropy_sentinel/features/compute.py" in files
    assert "entropy_sentinel/frames/contract.py" in files
    assert "entropy_sentinel/estimators/training.py" not in files
    assert "entropy_sentinel/engines/vllm.py" not in files


def test_closure_includes_imports_inside_functions() -> None:
    files = [entry.split()[0] for entry in fingerprint("estimate.py")]
    assert "entropy_sentinel/estimators/forest_search.py" in files
