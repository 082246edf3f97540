"""`entropy-sentinel audit` and `entropy-sentinel audit report`."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.cli.shared_arguments import print_line
from entropy_sentinel.core.cache_folders import BASE
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.study.cli.study_loading import ConfigFiles, load_made_study

if TYPE_CHECKING:
    from entropy_sentinel.study.auditing.audit_sample import AuditSample
    from entropy_sentinel.study.config.study_config import Config

SIZE, SEED = 300, 42

Judge = Annotated[str | None, typer.Option(help="The judge to audit; by default the first of run.judges.")]
Size = Annotated[int | None, typer.Option(min=1, help=f"Number of responses to draw; by default {SIZE}.")]
Seed = Annotated[int | None, typer.Option(min=0, help=f"Seed of the draw; by default {SEED}.")]
New = Annotated[bool, typer.Option("--new", help="Draw a new sample; answers for responses in both samples are kept.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page to label in a browser.")]
SavedAnswers = Annotated[
    Path | None, typer.Option("--answers", metavar="FILE", help="Add the answers that the page saved.")
]

app = typer.Typer(no_args_is_help=False)


@app.callback(invoke_without_command=True)
def command(
    context: typer.Context,
    configfile: ConfigFiles = [],
    judge: Judge = None,
    size: Size = None,
    seed: Seed = None,
    new: New = False,
    html: Html = None,
    answers: SavedAnswers = None,
) -> None:
    """Label a sample of responses to see how far to trust a judge.

    The sample is drawn once, stratified by model, benchmark and verdict, and kept with the answers in
    audits/STUDY/JUDGE: run the command again to continue. `entropy-sentinel audit report` evaluates the answers.
    """
    if context.invoked_subcommand is not None:
        context.obj = (configfile, judge)  # for `report`
        return
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.study.auditing.audit_sample import collect_material, get_sample_path
    from entropy_sentinel.study.auditing.auditor_answers import (
        add_answers,
        get_answers_path,
        get_replaced_path,
        read_answers,
    )

    config, judge = _load_judge(configfile, judge)
    call = _quote_command(configfile, config, judge)
    answers_path = get_answers_path(config.study, judge)
    sample_path = get_sample_path(config.study, judge)
    inputs: list[str | Path] = [
        BASE,
        *configfile,
        answers_path,
        get_replaced_path(answers_path),
        sample_path,
        config.layout.results,
    ]
    check_outputs({"--html": html}, inputs)
    sample = _load_sample(config, judge, size, seed, new)
    if answers is not None:
        n_used, n_other, n_replaced = add_answers(sample, answers, answers_path)
        print_line(f"{answers_path}: added {n_used} answers from {answers}; {n_other} are for other responses")
        if n_replaced:
            print_line(
                f"{n_replaced} of them replaced an earlier answer, which is kept in {get_replaced_path(answers_path)}"
            )
        return
    material = collect_material(config, sample)
    existing_answers = read_answers(answers_path) if answers_path.exists() else {}
    if html is not None:
        from entropy_sentinel.study.auditing.auditor_answers import write_page

        write_page(sample, material, existing_answers, html, f"{call} --answers FILE")
        print_line(f"{html}: {len(material)} responses; open it in a browser, then: {call} --answers FILE")
        return
    from rich.console import Console

    from entropy_sentinel.schemas.response_schema import RESPONSE
    from entropy_sentinel.study.auditing.auditor_answers import label_in_terminal

    if not sys.stdin.isatty():
        raise InputError("audit: labelling by keys needs a terminal; to label in a browser instead, add --html FILE")
    existing_answers = label_in_terminal(material, existing_answers, answers_path, typer.getchar, Console())
    done = sum(response in existing_answers for response in sample.rows.select(RESPONSE).rows())
    print_line(f"{answers_path}: {done} of {len(material)} answered")


@app.command("report")
def report(context: typer.Context, configfile: ConfigFiles = [], judge: Judge = None) -> None:
    """Compare the judge's verdicts with your answers.

    Prints agreement, kappa, error rates, and each domain's accuracy corrected for them, with intervals. Also writes
    report.json, agreement.csv and domains.csv beside the answers.
    """
    from entropy_sentinel.rendering.terminal_text import print_parts
    from entropy_sentinel.study.auditing.audit_sample import (
        collect_material,
        get_audit_folder,
        get_sample_path,
        read_sample,
    )
    from entropy_sentinel.study.auditing.auditor_answers import get_answers_path, read_answers
    from entropy_sentinel.study.auditing.judge_error import describe_audit, measure_judge, write_audit

    files, parent_judge = context.obj
    files = [*files, *configfile]
    config, judge = _load_judge(files, judge or parent_judge)
    answers_path = get_answers_path(config.study, judge)
    if not get_sample_path(config.study, judge).exists() or not answers_path.exists():
        raise InputError(f"{answers_path}: no answers yet; label some with: {_quote_command(files, config, judge)}")
    sample = read_sample(config.study, judge)
    collect_material(config, sample)  # raises an error if a response has changed since
    figures = measure_judge(sample, read_answers(answers_path))
    written = write_audit(figures, get_audit_folder(config.study, judge))
    print_parts([*describe_audit(figures), f"Written: {', '.join(map(str, written))}"])


def _load_judge(files: list[Path], judge: str | None) -> "tuple[Config, str]":
    """The study and the name of the audited judge."""
    config = load_made_study(files)
    judge = config.run.judges[0] if judge is None else judge
    if judge not in config.run.judges:
        raise ConfigError(f"--judge: must be one of run.judges ({', '.join(config.run.judges)}), got '{judge}'")
    return config, judge


def _quote_command(files: list[Path], config: "Config", judge: str) -> str:
    """The command that labels this sample, quoted for a shell."""
    words = ["entropy-sentinel", "audit"]
    for file in files:
        words += ["-c", str(file)]
    if judge != config.run.judges[0]:
        words += ["--judge", judge]
    return shlex.join(words)


def _load_sample(config: "Config", judge: str, size: int | None, seed: int | None, new: bool) -> "AuditSample":
    """The existing sample, or a new one if there is none or `new` is set.

    Raises InputError if the existing one has another `size` or `seed`; None stands for any.
    """
    from entropy_sentinel.study.auditing.audit_sample import draw_sample, get_sample_path, read_population, read_sample

    path = get_sample_path(config.study, judge)
    if new or not path.exists():
        size = SIZE if size is None else size
        seed = SEED if seed is None else seed
        sample = draw_sample(read_population(config, judge), config.study, judge, size, seed)
        strata = sample.provenance["strata"]
        n_drawn = sum(stratum["drawn"] > 0 for stratum in strata)
        print_line(
            f"{path}: {len(sample.rows)} responses drawn from {n_drawn} of {len(strata)} strata "
            "(model, benchmark and verdict): one from each stratum, the rest in proportion to stratum size"
        )
        return sample
    sample = read_sample(config.study, judge)
    provenance = sample.provenance
    for name, value, drawn in (("size", size, provenance["size"]), ("seed", seed, provenance["seed"])):
        if value is not None and value != drawn:
            raise InputError(f"{path}: was drawn with --{name} {drawn}, not {value}; add --new to draw again")
    return sample
