"""Sentences about problems of reading, for people; nothing reads them again."""

from collections.abc import Iterable
from typing import Any

from entropy_sentinel.core.errors import restore_urls
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.features.exclusion_reasons import find_remedy
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.reading.problem_codes import OPTIONS_IN_WORDS, ProblemKind
from entropy_sentinel.monitor.reading.problem_records import MOST_PLACES, EarlierProblems, Problem


def describe_problem(problem: Problem) -> str:
    """What a problem is, without its count; the first word is a plural."""
    options = {name: format_option(name) for name in OPTIONS_IN_WORDS}
    options["set_cluster"] = format_option("cluster", problem.subject)
    return problem.kind.words.format(subject=problem.subject, value=problem.value, expected=problem.expected, **options)


def list_lines(problems: Iterable[Problem]) -> list[str]:
    """A line for each problem, the most frequent first; problems with the same words share a line."""
    by_words: dict[str, Problem] = {}
    for problem in problems:
        words = describe_problem(problem)
        by_words.setdefault(words, Problem(problem.kind, problem.subject, problem.value, problem.expected)).add(
            problem.count, problem.places
        )
    ordered = sorted(by_words.items(), key=lambda pair: (-pair[1].count, pair[0]))
    return [restore_urls(_format_line(problem)) for _, problem in ordered]


def _format_line(problem: Problem) -> str:
    """A problem with its count, what to do about it, and its first places."""
    line = count_words(problem.count, describe_problem(problem))
    if remedy := describe_remedy(problem):
        line += f" {remedy}"
    if problem.places:
        line += f": {', '.join(problem.places)}" + (", ..." if problem.count > len(problem.places) else "")
    return line


def describe_remedy(problem: Problem) -> str:
    """The consequence of a problem and what to do, if its words do not say so; else an empty text."""
    match problem.kind:
        case ProblemKind.OTHER_MODEL:
            expected = str(problem.expected)
            return f"left out: {explain_mismatch('model', str(problem.value), expected, with_skipping=True)}"
        case ProblemKind.OTHER_LOGPROBS:
            setting, value, expected = str(problem.subject), str(problem.value), str(problem.expected)
            return f"left out: {explain_mismatch(setting, value, expected, with_skipping=True)}"
        case ProblemKind.NO_FEATURES:
            remedy = find_remedy(str(problem.subject))
            return f"({remedy})" if remedy else ""
        case ProblemKind.NO_ESTIMATOR | ProblemKind.UNNAMED_MODELS:
            models = format_option("where", "model=NAME")
            return f"(give one of this model too, or name the models to watch: {models})"
        case ProblemKind.EARLIER_PROBLEM | ProblemKind.EARLIER_NOTE:
            return problem.value or ""
    return ""


def explain_mismatch(setting: str, value: str, expected: str, with_skipping: bool = False) -> str:
    """The estimator's value of a setting and the options to use responses that have another value.

    With `with_skipping`, the option to skip them is also named.
    """
    remedies = []
    if with_skipping:
        remedies.append(f"{format_option('where', f'{setting}={expected}')} skips them")
    if setting == "model":
        remedies.append(f"{format_option('same_model', f'{expected}={value}')} continues with them")
        remedies.append(f"{format_option('any_model', True)} takes them")
    else:
        if setting == "top_k_returned" and value.isdecimal():
            if int(value) > int(expected):
                remedies.append(f"{format_option('top_k', int(expected))} cuts them")
            else:
                fitted = format_option("top_k", int(value), function="read_features")
                remedies.append(f"an estimator fitted with {fitted} takes them")
        remedies.append(f"{format_option('any_logprobs', True)} takes them unchanged")
    return f"the estimator has {setting} {expected} ({', '.join(remedies)})"


def describe_earlier_problems(earlier: EarlierProblems) -> str:
    """One line about the problems of files that earlier runs read; empty without any."""
    if not earlier.problems:
        return ""
    days = "" if earlier.first is None else f" of {earlier.first}"
    if earlier.first != earlier.last:
        days += f" to {earlier.last}"
    counts: dict[str, int] = {}
    for problem in earlier.problems.values():
        words = describe_problem(problem)
        counts[words] = counts.get(words, 0) + problem.count
    most = sorted(counts.items(), key=lambda pair: -pair[1])
    kinds = [count_words(count, words) for words, count in most[:MOST_PLACES]]
    if len(most) > MOST_PLACES:
        kinds.append("...")
    return restore_urls(
        f"reported by earlier runs, in {format_count(len(earlier.files), 'file')}{days}: {'; '.join(kinds)}"
    )


def describe_row(problem: Problem) -> dict[str, Any]:
    """A problem for JSON: its fields, the slug of its kind, and a text for people."""
    row = problem.to_row()
    return {"code": row.pop("kind"), "slug": problem.kind.slug, **row, "text": restore_urls(_format_line(problem))}


def count_words(count: int, words: str) -> str:
    """A count with words, such as "1 response without a time"; the first of the words is a plural."""
    things, space, rest = words.partition(" ")
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}{space}{rest}"
