"""`entropy-sentinel show`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from entropy_sentinel.commands.options import ConfigFiles, load_made_study
from entropy_sentinel.frames.errors import ConfigError

if TYPE_CHECKING:
    from entropy_sentinel.config.sections import Config

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model of the study.")]
Benchmark = Annotated[str, typer.Argument(metavar="BENCHMARK", help="A benchmark of the study.")]
Item = Annotated[
    str | None, typer.Argument(metavar="ITEM", help="An item, as averages-00012; none lists items worth a look.")
]
Sample = Annotated[int, typer.Option("--sample", min=0, help="Which of several responses to the item.")]
Judge = Annotated[str | None, typer.Option("--judge", help="Whose label; the study's first judge if not given.")]
Colour = Annotated[
    Literal["entropy", "surprise"], typer.Option("--by", help="What tokens are coloured by, and listed by.")
]
Listed = Annotated[int, typer.Option("--tokens", min=0, help="How many of the most uncertain tokens are listed.")]


def command(
    model: Model,
    benchmark: Benchmark,
    item: Item = None,
    configfile: ConfigFiles = [],
    sample: Sample = 0,
    judge: Judge = None,
    by: Colour = "entropy",
    tokens: Listed = 10,
) -> None:
    """Show a response of a study, token by token.

    Question, label and P(correct), the response with its tokens coloured by entropy or surprise, and its most uncertain
    tokens with the likely ones in their place. Without an ITEM it lists the responses to the benchmark that look most
    and least certain, and those that are wrong but certain or right but uncertain. What is not made yet is left out.
    """
    from entropy_sentinel.analyses.responses import terminal
    from entropy_sentinel.report.terminal import show

    config = load_made_study(configfile)
    judge = judge or config.run.judges[0]
    for axis, name in (("models", model), ("benchmarks", benchmark), ("judges", judge)):
        _check(config, axis, name)
    study = terminal.study_files(config, judge, model)
    if item is None:
        show(terminal.candidates(study, benchmark, max(1, tokens)))
    else:
        show(terminal.one_response(study, benchmark, (item, sample), by, tokens))


def _check(config: "Config", axis: str, name: str) -> None:
    known = getattr(config.run, axis)
    if name not in known:
        raise ConfigError(f"'{name}' is none of the study's {axis}: {', '.join(known)}")
