"""Who requests the outputs of the rules: an output without a request is not made when it joins a rule's list.

Snakemake compares the parameters of a job only if all its outputs have metadata. A new output that nobody requests has
none, so the job does not run, and neither does anything else say that a file is missing. Therefore every output of a
rule that a study uses is an input of another rule or a target.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from entropy_sentinel.core.errors import ConfigError

# A rule of Snakemake.
_Rule = Any
_WILDCARD = re.compile(r"\{(\w+)\}")


class _Request(NamedTuple):
    """A pattern of files that a rule names as input."""

    parts: tuple[str, ...]
    rule: _Rule


def check_requests(rules: Iterable[_Rule], target: str, strip_constraints: Callable[[str], str]) -> None:
    """Raise ConfigError for an output that nobody requests, of a rule that makes requested files.

    `target` is the name of the rule of all targets. Files of a rule that it does not use are requested by other rules
    without outputs, such as `prefetch`. `strip_constraints` is Snakemake's `strip_wildcard_constraints`.
    """
    all_rules = list(rules)
    outputs = {rule.name: [strip_constraints(str(file)) for file in rule.output] for rule in all_rules}

    @cache
    def collect_requests(all_targets: bool) -> _Requests:
        """The requests of `target` and of all rules with outputs; with `all_targets`, those of every rule."""
        requesters = [rule for rule in all_rules if all_targets or rule.output or rule.name == target]
        return _Requests(requesters, outputs, strip_constraints)

    for rule in all_rules:
        missing = collect_requests(all_targets=False).find_missing(rule)
        has_no_request = bool(missing) and missing == outputs[rule.name]
        if has_no_request:
            missing = collect_requests(all_targets=True).find_missing(rule)
        # A rule without any requested output is not used by the study.
        if missing and len(missing) < len(outputs[rule.name]):
            raise ConfigError(
                f"rule '{rule.name}' ({rule.snakefile}): nothing requests its output {missing[0]}, so it would not be "
                "made when it is added later; add it to TARGETS, or to the input of the rule that reads it"
            )


class _Requests:
    """The inputs of rules; `outputs` are those of all rules by name."""

    def __init__(
        self, rules: Iterable[_Rule], outputs: Mapping[str, list[str]], strip_constraints: Callable[[str], str]
    ) -> None:
        self._outputs, self._strip_constraints = outputs, strip_constraints
        # By number of folders and file name, which is "" if it has wildcards.
        self._requests: dict[tuple[int, str], list[_Request]] = defaultdict(list)
        self._functions: list[tuple[_Rule, Callable[..., Any]]] = []
        self._called: set[tuple[int, frozenset[tuple[str, str]]]] = set()
        self._is_requested_cache: dict[str, bool] = {}
        for rule in rules:
            for file in rule.input:
                if callable(file):
                    self._functions.append((rule, file))
                else:
                    self._add(rule, strip_constraints(str(file)))

    def _add(self, rule: _Rule, pattern: str) -> None:
        parts = tuple(pattern.split("/"))
        self._requests[_index_key(parts)].append(_Request(parts, rule))

    def find_missing(self, rule: _Rule) -> list[str]:
        """The outputs of a rule that nobody requests.

        Input functions, which are slow, are called only while an output looks unrequested, and until they add nothing.
        """
        outputs = self._outputs[rule.name]
        missing = [file for file in outputs if not self.is_requested(file)]
        while missing and self._call_functions():
            missing = [file for file in missing if not self.is_requested(file)]
        return missing

    def _call_functions(self) -> bool:
        """Add what input functions return for the requested files of their rules; return whether anything is new."""
        found = []
        for rule, function in self._functions:
            for wildcards in self._list_requested_wildcards(rule):
                # Once for each function and wildcards, so that the caller's loop ends.
                call = (id(function), frozenset(wildcards.items()))
                if call in self._called:
                    continue
                self._called.add(call)
                try:
                    files = function(SimpleNamespace(**wildcards))
                except Exception:  # it needs what is known only later, as for a source file
                    continue
                found += [(rule, str(file)) for file in ([files] if isinstance(files, str) else files)]
        for rule, file in found:
            self._add(rule, self._strip_constraints(file))
        self._is_requested_cache.clear()
        return bool(found)

    def _list_requested_wildcards(self, rule: _Rule) -> Iterator[dict[str, str]]:
        """Yield the values of wildcards with which a rule's files are requested; `{name}` if a request sets none."""
        for output in self._outputs[rule.name]:
            parts = tuple(output.split("/"))
            names = {name: f"{{{name}}}" for name in _WILDCARD.findall(output)}
            for request, _ in self._find_matching(output):
                # The text of the output's wildcards where the request has text.
                yield names | (_bind_wildcards(request.parts, parts) or {})

    def is_requested(self, pattern: str) -> bool:
        """Whether a rule with an output, or a target, requests files of this pattern."""
        if pattern not in self._is_requested_cache:
            self._is_requested_cache[pattern] = False  # a rule does not request its own output through others
            self._is_requested_cache[pattern] = any(
                self._is_needed(request, bound) for request, bound in self._find_matching(pattern)
            )
        return self._is_requested_cache[pattern]

    def _find_matching(self, pattern: str) -> Iterator[tuple[_Request, dict[str, str]]]:
        """Yield requests of files of this pattern, each with the text of its wildcards (`_bind_wildcards`)."""
        parts = tuple(pattern.split("/"))
        n_parts, file_name = _index_key(parts)
        if file_name:
            keys = [(n_parts, file_name), (n_parts, "")]
        else:  # a file name with wildcards may be any
            keys = [key for key in self._requests if key[0] == n_parts]
        for key in keys:
            for request in self._requests.get(key, ()):
                bound = _bind_wildcards(parts, request.parts)
                if bound is not None:
                    yield request, bound

    def _is_needed(self, request: _Request, bound: Mapping[str, str]) -> bool:
        """Whether the rule that has this input runs.

        It runs if it is a target, which has no outputs, or if one of its outputs, with the wildcards of `bound` filled
        in, is itself requested. `bound` has the text of the request's wildcards.
        """
        outputs = self._outputs[request.rule.name]
        return not outputs or any(
            self.is_requested(_WILDCARD.sub(lambda found: bound.get(found[1], found[0]), output)) for output in outputs
        )


def _index_key(parts: tuple[str, ...]) -> tuple[int, str]:
    """The number of a pattern's parts and its file name, which is "" if it has wildcards."""
    return len(parts), "" if "{" in parts[-1] else parts[-1]


def _bind_wildcards(output: tuple[str, ...], request: tuple[str, ...]) -> dict[str, str] | None:
    """The text of the request's wildcards where the output has text; None if the patterns share no file.

    Both are patterns, split at slashes. The output `labels/{judge}/gsm8k.json` and the request
    `labels/strict/{benchmark}.json` share a file, and give {"benchmark": "gsm8k"}: the first parts are equal, in the
    second the output's wildcard has the request's text, in the third the request's wildcard has the output's.
    """
    text_by_wildcard: dict[str, str] = {}
    for output_part, request_part in zip(output, request, strict=True):
        if output_part == request_part:
            continue
        if "{" in request_part and (match := _compile_pattern(request_part).fullmatch(output_part)):
            # A wildcard of the request that meets a wildcard of the output has no text yet.
            text_by_wildcard |= {name: text for name, text in match.groupdict().items() if "{" not in text}
            continue
        if "{" in output_part and _compile_pattern(output_part).fullmatch(request_part):
            continue
        return None
    return text_by_wildcard


@cache
def _compile_pattern(part: str) -> re.Pattern[str]:
    """The expression for a folder or file name with wildcards."""
    names: set[str] = set()

    def group(name: str) -> str:
        if name in names:  # a repeated wildcard has the same text
            return f"(?P={name})"
        names.add(name)
        return f"(?P<{name}>.+)"

    pieces = _WILDCARD.split(part)  # texts, and at every second place the name of a wildcard
    return re.compile("".join(group(piece) if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)))
