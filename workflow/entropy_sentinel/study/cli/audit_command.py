"""`entropy-sentinel audit` and `entropy-sentinel audit report`."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.cli.shared_arguments import say
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
Given = Annotated[Path | None, typer.Option("--answers", metavar="FILE", help="Add the answers that the page saved.")]

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
    answers: Given = None,
) -> None:
    """Label a sample of responses to see how far to trust a judge.

    The sample is drawn once, stratified by model, benchmark and verdict, and kept with the answers in
    audits/STUDY/JUDGE: run the command again to continue. `entropy-sentinel audit report` evaluates the answers.
    """
    if context.invoked_subcommand is not None:
        context.obj = (configfile, judge)
        return
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.study.auditing.audit_sample import material, sample_file
    from entropy_sentinel.study.auditing.auditor_answers import add_answers, answers_file, read_answers, replaced_file

    config, judge = _judged(configfile, judge)
    call = _call(configfile, config, judge)
    kept, drawn = answers_file(config.study, judge), sample_file(config.study, judge)
    inputs: list[str | Path] = [BASE, *configfile, kept, replaced_file(kept), drawn, config.layout.results]
    check_outputs({"--html": html}, inputs)
    sample = _sample(config, judge, size, seed, new)
    if answers is not None:
        used, others, replaced = add_answers(sample, answers, kept)
        say(f"{kept}: added {used} answers from {answers}; {others} are for other responses")
        if replaced:
            say(f"{replaced} of them replaced an earlier answer, which is kept in {replaced_file(kept)}")
        return
    shown, known = material(config, sample), read_answers(kept) if kept.exists() else {}
    if html is not None:
        from entropy_sentinel.study.auditing.auditor_answers import write_page

        write_page(sample, shown, known, html, f"{call} --answers FILE")
        say(f"{html}: {len(shown)} responses; open it in a browser, then: {call} --answers FILE")
        return
    from rich.console import Console

    from entropy_sentinel.schemas.response_schema import RESPONSE
    from entropy_sentinel.study.auditing.auditor_answers import label_in_terminal

    if not sys.stdin.isatty():
        raise InputError("audit: labelling by keys needs a terminal; to label in a browser instead, add --html FILE")
    known = label_in_terminal(shown, known, kept, typer.getchar, Console())
    done = sum(response in known for response in sample.rows.select(RESPONSE).rows())
    say(f"{kept}: {done} of {len(shown)} answered")


@app.command("report")
def report(context: typer.Context, configfile: ConfigFiles = [], judge: Judge = None) -> None:
    """Compare the judge's verdicts with your answers.

    Prints agreement, kappa, error rates, and each domain's accuracy corrected for them, with intervals. Also writes
    report.json, agreement.csv and domains.csv beside the answers.
    """
    from entropy_sentinel.rendering.terminal_text import show
    from entropy_sentinel.study.auditing.audit_sample import folder_of, material, read_sample, sample_file
    from entropy_sentinel.study.auditing.auditor_answers import answers_file, read_answers
    from entropy_sentinel.study.auditing.judge_error import audit, parts, write_audit

    files, named = context.obj
    files = [*files, *configfile]
    config, judge = _judged(files, judge or named)
    kept = answers_file(config.study, judge)
    if not sample_file(config.study, judge).exists() or not kept.exists():
        raise InputError(f"{kept}: no answers yet; label some with: {_call(files, config, judge)}")
    sample = read_sample(config.study, judge)
    material(config, sample)  # raises an error if a response has changed since
    figures = audit(sample, read_answers(kept))
    written = write_audit(figures, folder_of(config.study, judge))
    show([*parts(figures), f"Written: {', '.join(map(str, written))}"])


def _judged(files: list[Path], judge: str | None) -> "tuple[Config, str]":
    """The study and the name of the audited judge."""
    config = load_made_study(files)
    judge = config.run.judges[0] if judge is None else judge
    if judge not in config.run.judges:
        raise ConfigError(f"--judge: must be one of run.judges ({', '.join(config.run.judges)}), got '{judge}'")
    return config, judge


def _call(files: list[Path], config: "Config", judge: str) -> str:
    """The command that labels this sample, quoted for a shell."""
    words = ["entropy-sentinel", "audit"]
    for file in files:
        words += ["-c", str(file)]
    if judge != config.run.judges[0]:
        words += ["--judge", judge]
    return shlex.join(words)


def _sample(config: "Config", judge: str, size: int | None, seed: int | None, new: bool) -> "AuditSample":
    """The existing or a new sample; raises InputError if the existing one has another size or seed."""
    from entropy_sentinel.study.auditing.audit_sample import draw_sample, population, read_sample, sample_file

    path = sample_file(config.study, judge)
    if new or not path.exists():
        size, seed = SIZE if size is None else size, SEED if seed is None else seed
        sample = draw_sample(population(config, judge), config.study, judge, size, seed)
        strata = sample.about["strata"]
        n_drawn = sum(stratum["drawn"] > 0 for stratum in strata)
        say(
            f"{path}: {len(sample.rows)} responses drawn from {n_drawn} of {len(strata)} strata "
            "(model, benchmark and verdict): one from each stratum, the rest in proportion to stratum size"
        )
        return sample
    sample = read_sample(config.study, judge)
    about = sample.about
    for name, value, drawn in (("size", size, about["size"]), ("seed", seed, about["seed"])):
        if value is not None and value != drawn:
            raise InputError(f"{path}: was drawn with --{name} {drawn}, not {value}; add --new to draw again")
    return sample
