"""`entropy-sentinel counts`."""

from pathlib import Path
from typing import Annotated

import typer

from entropy_sentinel.cli.shared_arguments import print_line

Questions = Annotated[
    Path,
    typer.Argument(
        metavar="QUESTIONS", help="Rows with keywords and right answers (.jsonl, .csv, .parquet, .gz of the first two)."
    ),
]
Corpus = Annotated[
    Path, typer.Option("--corpus", metavar="FOLDER", help="Folder of texts to search: .txt and .jsonl files, also .gz.")
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file of rows to write, .jsonl.")]
IndexFile = Annotated[
    Path | None,
    typer.Option("--index", metavar="FILE", help="Search index of the corpus, kept for later runs. [OUTPUT.index]"),
]
Question = Annotated[str, typer.Option("--question", metavar="COLUMN", help="The question; only for --entailment.")]
Keywords = Annotated[str, typer.Option("--keywords", metavar="COLUMN", help="A keyword of the question, or a list.")]
Answers = Annotated[str, typer.Option("--answers", metavar="COLUMN", help="The right answers, a list.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--entailment",
        metavar="MODEL",
        help="Ask this model, by LiteLLM's name, if each paragraph states that the answer is right, and count only "
        "those: at most 1,000 per answer.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Its server, if not the provider's own.")
]
Text = Annotated[str, typer.Option("--text", metavar="COLUMN", help="The text in .jsonl files of the corpus.")]


def command(
    questions: Questions,
    corpus: Corpus,
    output: Output,
    index_file: IndexFile = None,
    question: Question = "question",
    keywords: Keywords = "keywords",
    answers: Answers = "answers",
    text: Text = "text",
    model: Model = None,
    base_url: BaseUrl = None,
) -> None:
    """Count how often each right answer to a question occurs in a corpus.

    A paragraph counts for an answer if it contains all keywords of the question and one of the answer's names. Words
    are compared by their stems, without case and accents. The column `counts` has the counts in the order
    of the answers. A question is dropped if one of its answers is never seen. An interrupted run continues after the
    last completely indexed corpus file, and does not repeat requests that were already answered.
    """
    import json

    from entropy_sentinel.core.errors import InputError
    from entropy_sentinel.core.whole_files import check_outputs, write_whole
    from entropy_sentinel.study.items.benchmark_rows import read_local_rows
    from papers.ambiguity.counts.answer_counting import Columns, count_answers
    from papers.ambiguity.counts.corpus_index import open_index

    if output.suffix != ".jsonl":
        raise InputError(f"--output: must end with .jsonl, got '{output}'")
    index_file = index_file or output.with_name(f"{output.name}.index")
    check_outputs({"--output": output, "--index": index_file}, [questions, corpus])
    rows = list(read_local_rows(str(questions)))
    columns = Columns(question, keywords, answers)
    entailment = None
    if model:
        from papers.ambiguity.counts.entailment import Entailment

        entailment = Entailment(model, base_url)
    with open_index(index_file, corpus, text) as index:
        counts = list(count_answers(rows, index, columns, str(questions), entailment))
        n_chunks = index.n_chunks
    kept = []
    for row, row_counts in zip(rows, counts, strict=True):
        if all(row_counts):
            kept.append({**row, "counts": row_counts})
    write_whole(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    print_line(f"{output}: {len(kept):,} of {len(rows):,} questions, counted in {n_chunks:,} paragraphs")
    if len(kept) < len(rows):
        print_line(
            f"{len(rows) - len(kept):,} left out: no paragraph with the keywords contains one of their answers",
            err=True,
        )
    if entailment is not None and entailment.unclear:
        print_line(
            f"{entailment.unclear:,} of {entailment.n_asked:,} replies were neither yes nor no, and count as no",
            err=True,
        )
