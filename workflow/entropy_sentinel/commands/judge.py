"""`entropy-sentinel judge`: a language model's verdicts on a sample of responses."""

from pathlib import Path
from typing import Annotated, Any

import typer

from entropy_sentinel.commands.options import Json, check_table_path, print_json, say, taking, working
from entropy_sentinel.monitor.settings import JudgeOptions

Samples = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help="Files that `sample` has written (.csv or .jsonl). The verdicts represent the first; those on further "
        "responses of the others only correct the judge's errors.",
    ),
]
VerdictsFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file of the verdicts to write: .csv or .jsonl.")
]


@taking(JudgeOptions, model=...)
def command(files: Samples, output: VerdictsFile, json: Json = False, **options: Any) -> None:
    """Have a language model judge a sample of responses, without a reference answer.

    The verdicts are a second kind of label for `monitor --judged`, which corrects the judge's errors by the labels that
    people give to some of the same responses. Replies are cached, so that a second run pays only for what is new.

    \b
    Two samples, many responses for the judge and a few for people:
      entropy-sentinel judge to_judge.csv to_label.csv --model openai/gpt-4o-mini --output verdicts.csv
    """
    from entropy_sentinel.core.files import check_outputs
    from entropy_sentinel.formatting.spreadsheet import write_table
    from entropy_sentinel.monitor.labelling.judging import check_target, counts, judged
    from entropy_sentinel.monitor.labelling.to_label import SUFFIXES

    check_table_path(output, SUFFIXES)
    check_outputs({"--output": output}, files)
    check_target(output)
    settings = JudgeOptions.of(options)
    with working("asking the judge"):
        result = judged(files, settings)
    write_table(result.rows, output)
    correct, incorrect, without = counts(result.rows)
    if json:
        print_json({"correct": correct, "incorrect": incorrect, "without": without, "usd": result.usd})
        return
    say(
        f"{output}: {len(result.rows):,} responses judged by {settings.model}: {correct:,} correct, {incorrect:,} "
        f"incorrect, {without:,} without a verdict"
    )
    cost = f", for {result.usd:.4f} US dollars" if settings.usd_per_million_input_tokens is not None else ""
    say(f"{result.answered:,} requests answered{cost}; {result.cached:,} replies from the cache")
    reasons = result.rows["reason"].drop_nulls().value_counts(sort=True).head(3)
    for reason, number in reasons.iter_rows():
        say(f"{number:,} without a verdict: {reason}", err=True)
