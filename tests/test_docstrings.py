"""The examples in docstrings run and give what they say."""

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import entropy_sentinel


def test_examples_in_docstrings() -> None:
    tried = []
    for found in pkgutil.walk_packages(entropy_sentinel.__path__, "entropy_sentinel."):
        path = found.module_finder.find_spec(found.name).origin
        if ".scripts." in found.name or ">>> " not in Path(path).read_text():
            continue
        module = import_module(found.name)
        for test in doctest.DocTestFinder().find(module):
            if test.examples:
                failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
                assert not failed, test.name
                tried.append(test.name.rpartition(".")[2])
    assert {"read_logs", "compute_features", "fit", "estimate"} <= set(tried)
