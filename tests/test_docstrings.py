"""The examples in docstrings run and give what they say; parameters of public verbs are listed."""

import doctest
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

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
    assert {"read_logs", "features", "fit", "estimate", "Estimator"} <= set(tried)


@pytest.mark.parametrize("name", es._VERBS)
def test_public_verbs_list_their_parameters_as_tools_read_them(name: str) -> None:
    verb = es._verb(name)
    assert inspect.signature(getattr(es, name)).parameters.keys() == inspect.signature(verb).parameters.keys()
    said = inspect.getdoc(verb)
    listed = re.search(r"^Args:\n((?:    .*\n|\n)+)", said, re.MULTILINE)
    names = re.findall(r"^    \**(\w+): ", listed[1], re.MULTILINE) if listed else []
    assert names == list(inspect.signature(verb).parameters)
    assert ("Returns:" in said) == (name != "save")


def test_completion_offers_verbs_and_the_classes_of_results_and_errors() -> None:
    """Whatever is imported, such as rooms of the package."""
    results = {hint.__name__ for name in es._VERBS for hint in _result_classes(name)}
    errors = {"ConfigError", "EntropySentinelError", "InputError", "ProvenanceError"}
    assert dir(es) == sorted({*es._VERBS, *results, *errors})
    assert all(isinstance(getattr(es, name), type) for name in results | errors)


def _result_classes(verb: str) -> Iterator[type]:
    hint = get_type_hints(es._verb(verb)).get("return")
    for part in (hint, *get_args(hint)):
        if inspect.isclass(part) and part.__module__.startswith("entropy_sentinel."):
            yield part


def test_type_checkers_see_every_verb_and_class() -> None:
    imports = re.findall(
        r"^    from (entropy_sentinel\.[\w.]+) import (\w+) as \2$", Path(es.__file__).read_text(), re.M
    )
    assert {name: module for module, name in imports} == {
        name: f"entropy_sentinel.{module}" for name, module in (es._VERBS | es._CLASSES).items()
    }
