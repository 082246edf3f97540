"""`entropy-sentinel judge`: a language model's verdicts on a sample of responses, or a second model's answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.cli.shared_arguments import (
    INTERRUPTED_STATUS,
    STOPPED_BY_USER,
    Json,
    announce_work,
    check_table_path,
    print_json,
    print_line,
    take_options,
)
from entropy_sentinel.core.option_classes import Panel
from entropy_sentinel.monitor.monitor_options import JudgeOptions
from entropy_sentinel.schemas.witness_schema import PROBABILITY, WitnessKind

if TYPE_CHECKING:
    from entropy_sentinel.monitor.labelling.judged_sample import JudgedSample

Samples = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help="Files that `sample` has written (.csv or .jsonl). The labels represent the first; those on further "
        "responses of the others only correct the errors of the judge or second opinion.",
    ),
]
VerdictsFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file of the labels to write: .csv or .jsonl.")
]
PartnerLogs = Annotated[
    list[str] | None,
    typer.Option(
        "--agrees-with",
        metavar="TRACES",
        help="Logs or traces of another model that answered the same questions, instead of a judge: a second opinion "
        "for free. They are joined by id, or else by the question. If it answered a question several times, its answer "
        "at temperature 0 counts, or else the first. Repeat it for more.",
        rich_help_panel=Panel.JUDGE,
    ),
]
PartnerModel = Annotated[
    str | None,
    typer.Option(
        "--agrees-with-model",
        metavar="NAME",
        help="The name of that model, if its logs have several models or name none.",
        rich_help_panel=Panel.JUDGE,
    ),
]

# What a label is, by the kind of the witness.
_NOUNS = {WitnessKind.VERDICT: "verdict", WitnessKind.SECOND_OPINION: "comparison"}


@take_options(JudgeOptions)
def command(
    files: Samples,
    output: VerdictsFile,
    agrees_with: PartnerLogs = None,
    agrees_with_model: PartnerModel = None,
    json: Json = False,
    **options: Any,
) -> None:
    """Have a language model judge a sample of responses, or compare them with a second model's answers.

    The labels are a second kind of label for `monitor --judged` and `fit --judged`, which correct their errors by the
    labels that people give to some of the same responses. Give exactly one of --model, --second-opinion and
    --agrees-with. Replies are cached, so that a second run pays only for what is new.

    A second opinion is worth most where answers are short or end with a number, and needs a stronger model than the
    one that is watched. On 23 kinds of questions, the share that agrees was off by 0.09 on average without any label,
    against 0.28 for the estimator from log-probabilities. Ask 30 to 60 questions per slice.

    If the budget is spent, the server fails or you press Ctrl-C after some answers, the file has these, and their
    weights are larger, so that they still represent the slices. The others have the reason `budget`, `server` or
    `interrupted`. The same command again asks only these. Exit status: 0; 1 for an error; 6 for such a file, or 130
    after Ctrl-C.

    \b
    Two samples, many responses for the judge and a few for people:
      entropy-sentinel judge to_judge.csv to_label.csv --model openai/gpt-4o-mini --output verdicts.csv
    A second opinion on the same responses:
      entropy-sentinel judge to_judge.csv to_label.csv --second-opinion openai/gpt-4o --output opinions.csv
    """
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.formatting.spreadsheet import write_table
    from entropy_sentinel.monitor.labelling.interruption import InterruptionCode
    from entropy_sentinel.monitor.labelling.judge_run import check_target, judge_sample
    from entropy_sentinel.monitor.labelling.label_sheet import SUFFIXES

    check_table_path(output, SUFFIXES)
    check_outputs({"--output": output}, [*files, *map(Path, agrees_with or ())])
    check_target(output)
    settings = JudgeOptions.from_values(options)
    with announce_work("asking the model"):
        result = judge_sample(files, settings, agrees_with, agrees_with_model)
    write_table(result.rows, output)
    if json:
        print_json(_make_summary(result))
    else:
        _print_summary(result, output)
        if agrees_with is None:
            cost = f", for {result.usd:.4f} US dollars" if settings.usd_per_million_input_tokens is not None else ""
            print_line(f"{result.answered:,} requests answered{cost}; {result.cached:,} replies from the cache")
        reasons = result.rows["reason"].drop_nulls().value_counts(sort=True).head(3)
        for reason, number in reasons.iter_rows():
            print_line(f"{number:,} without a {_NOUNS[result.kind]}: {reason}", err=True)
    for notice in result.notices:
        print_line(notice, err=True)
    if result.interruption is not None:
        print_line(str(result.interruption), err=True)
        stopped = result.interruption.code == InterruptionCode.INTERRUPTED
        raise typer.Exit(STOPPED_BY_USER if stopped else INTERRUPTED_STATUS)


def _print_summary(result: "JudgedSample", output: Path) -> None:
    """Print how many labels of each kind there are."""
    true, false, without = result.counts
    n = len(result.rows)
    if result.kind == WitnessKind.VERDICT:
        n_probabilities = result.rows[PROBABILITY].count()
        print_line(
            f"{output}: {n:,} responses judged by {result.model}: {true:,} correct, {false:,} incorrect, {without:,} "
            f"without a verdict; {n_probabilities:,} verdicts with a probability"
        )
        return
    share = f" ({true / (true + false):.3f})" if true + false else ""
    print_line(
        f"{output}: {n:,} responses compared with the answers of {result.model}: {true:,} of {true + false:,} agree"
        f"{share}; {result.n_comparable:,} can be compared by their text; {without:,} without an answer"
    )


def _make_summary(result: "JudgedSample") -> dict[str, Any]:
    """What `--json` prints: the numbers of labels by verdict, the costs, notices, and what an interruption left out."""
    true, false, without = result.counts
    usd: dict[str, Any] = {"usd": result.usd, "notices": list(result.notices)}
    stopped = result.interruption
    usd |= {"interrupted": None if stopped is None else stopped.code, "missing": stopped.n_missing if stopped else 0}
    if result.kind == WitnessKind.VERDICT:
        counts = {"correct": true, "incorrect": false, "without": without}
        return counts | {"with_probability": result.rows[PROBABILITY].count()} | usd
    return {"agree": true, "disagree": false, "without": without, "comparable": result.n_comparable} | usd
