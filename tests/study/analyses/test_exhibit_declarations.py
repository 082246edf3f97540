"""The declarations of tables and figures, of every analysis: each leads to a function of the analysis's inputs."""

from importlib import import_module
from inspect import getmodule, signature
from typing import get_type_hints

import pytest

from entropy_sentinel.core.analysis import Analysis, load_sections
from entropy_sentinel.rendering.exhibit_declarations import list_titles, load_function
from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, FigureInputs
from entropy_sentinel.rendering.figure_style import Drawing
from entropy_sentinel.rendering.latex import PaperTable
from entropy_sentinel.rendering.table_exhibit import Table
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import TABLES
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs

WITH_EXHIBITS = [cls for cls in load_sections().values() if cls.TABLES or cls.FIGURES]


@pytest.mark.parametrize("analysis", WITH_EXHIBITS)
def test_every_exhibit_is_declared_with_a_function_of_its_inputs(analysis: type[Analysis]) -> None:
    package = analysis.__module__.rpartition(".")[0]
    exhibits = import_module(analysis.__module__.replace("_settings", "_exhibits"))
    for titles, name, made, inputs in (
        (analysis.TABLES, "TABLES", Table, ExhibitInputs),
        (analysis.FIGURES, "FIGURES", Drawing, FigureInputs),
    ):
        declarations = getattr(exhibits, name, {})
        assert list_titles(declarations) == titles
        for declaration in declarations.values():
            function = declaration.load()
            hints = get_type_hints(function)
            assert list(signature(function).parameters) == ["inputs"], declaration.function
            assert issubclass(hints["inputs"], inputs), declaration.function
            assert hints["return"] is made, declaration.function
            # The folder of the code on which the jobs of the analysis depend.
            assert getmodule(function).__package__ == package


def test_published_values_have_a_counterpart_and_a_layout() -> None:
    published = [table.published for table in TABLES.values() if table.published]
    assert len(published) == 10
    for table in published:
        hints = get_type_hints(load_function(table.counterpart_function))
        assert hints["inputs"] is AccuracyTableInputs, table.counterpart_function
        assert get_type_hints(load_function(table.layout_function))["return"] == list[PaperTable], table.layout_function
