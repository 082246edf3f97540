"""An extension of Griffe: the page of the verbs lists their options, as `core.option_classes.document_options` does."""

import inspect
import re
from typing import Any

import griffe

_PREFIX = re.compile(r"\b(typing|collections\.abc|pathlib)\.")


class ListOptions(griffe.Extension):
    """Replace the `**options` of a verb by its options, which reading the source does not show."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Take the signature and the docstring of a decorated function from Python."""
        if not any(str(decorator.value).startswith("document_options(") for decorator in func.decorators):
            return
        verb = griffe.dynamic_import(func.path)
        func.docstring.value = inspect.getdoc(verb)
        del func.parameters["options"]
        for name, parameter in inspect.signature(verb).parameters.items():
            if name not in func.parameters:
                func.parameters[name] = griffe.Parameter(
                    name,
                    annotation=_PREFIX.sub("", inspect.formatannotation(parameter.annotation)),
                    kind=griffe.ParameterKind.keyword_only,
                    default=repr(parameter.default),
                )
