"""The examples in docstrings run and give what they say; parameters of public verbs are listed."""

import doctest
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import entropy_sentinel as es


def test_examples_in_docstrings() -> None:
    tried = []
    for found in pkgutil.walk_packages(es.__path__, "entropy_sentinel."):
        path = found.module_finder.find_spec(found.name).origin
        if ".scripts." in found.name or ">>> " not in Path(path).read_text():
            continue
        module = import_module(found.name)
        for test in doctest.DocTestFinder().find(module):
            if test.examples:
                failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
                assert not failed, test.name
                tried.append(test.name.rpartition(".")[2])
    assert {"read_logs", "features", "fit", "estimate"} <= set(tried)


@pytest.mark.parametrize("name", es.__all__)
def test_public_verbs_list_their_parameters_as_tools_read_them(name: str) -> None:
    verb = es._verb(name)
    assert inspect.signature(getattr(es, name)).parameters.keys() == inspect.signature(verb).parameters.keys()
    said = inspect.getdoc(verb)
    listed = re.search(r"^Args:\n((?:    .*\n|\n)+)", said, re.MULTILINE)
    names = re.findall(r"^    \**(\w+): ", listed[1], re.MULTILINE) if listed else []
    assert names == list(inspect.signature(verb).parameters)
    assert ("Returns:" in said) == (name != "save")


def test_type_checkers_see_every_verb() -> None:
    imports = re.findall(
        r"^    from (entropy_sentinel\.[\w.]+) import (\w+) as \2$", Path(es.__file__).read_text(), re.M
    )
    assert {name: module for module, name in imports} == {
        name: f"entropy_sentinel.{es._VERBS[name]}" for name in es._VERBS
    }
