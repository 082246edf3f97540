"""Which files of an analysis Snakemake's report shows, and under which titles."""

from typing import ClassVar

from entropy_sentinel.core.analysis import Analysis
from entropy_sentinel.study.analyses.accuracy.accuracy_settings import Accuracy
from entropy_sentinel.study.jobs.report_entries import list_report_entries


class Lengths(Analysis):
    """An analysis of an extension that declares titles and nothing else."""

    PAGE = "lengths/{model}.html"
    TELLS = "how long the responses are"
    TABLES: ClassVar = {"2_long": "Long responses", "2_long_ones": "The longest"}
    FIGURES: ClassVar = {"lengths": "Lengths of responses"}


def shown(outputs: list[str], analysis: Analysis | None = None) -> dict[str, tuple[str, dict[str, str]]]:
    """By file, what the report shows: subcategory and labels."""
    entries = list_report_entries("response_lengths", analysis or Lengths(), outputs, "Mine", "TEMPLATE")
    assert {entry.category for entry in entries} <= {"Response lengths"}
    return {outputs[entry.place]: (entry.subcategory, entry.labels) for entry in entries}


def test_every_exhibit_is_shown_once_under_its_declared_title() -> None:
    folder = "results/s/{judge}/lengths"
    tables = [
        f"{folder}/tables/table_{name}.{kind}"
        for name in ("2_long", "2_long_ones", "2_long_published", "other")
        for kind in ("csv", "md", "tex", "html")
    ]
    figures = [
        f"{folder}/figures/figure_{name}.{kind}"
        for name in ("lengths", "lengths_a-b")
        for kind in ("pdf", "png", "html")
    ]
    judge = {"judge": "{judge}"}
    rounded, digits = judge | {"Rounded": "yes"}, judge | {"Rounded": "no"}
    assert shown([*tables, *figures]) == {
        f"{folder}/tables/table_2_long.html": ("Tables", {"Exhibit": "Table 2: Long responses"} | rounded),
        f"{folder}/tables/table_2_long.csv": ("Tables", {"Exhibit": "Table 2: Long responses"} | digits),
        f"{folder}/tables/table_2_long_ones.html": ("Tables", {"Exhibit": "Table 2: The longest"} | rounded),
        f"{folder}/tables/table_2_long_ones.csv": ("Tables", {"Exhibit": "Table 2: The longest"} | digits),
        f"{folder}/tables/table_other.html": ("Tables", {"Exhibit": "Other"} | rounded),
        f"{folder}/tables/table_other.csv": ("Tables", {"Exhibit": "Other"} | digits),
        f"{folder}/figures/figure_lengths.png": ("Figures", {"Exhibit": "Lengths of responses"} | judge),
        f"{folder}/figures/figure_lengths_a-b.png": ("Figures", {"Exhibit": "Lengths of responses, a-b"} | judge),
    }


def test_pages_and_summaries_are_shown_and_intermediate_files_are_not() -> None:
    page, summary = "results/s/lengths/{model}.html", "results/s/lengths/summary.txt"
    others = ["results/s/lengths/pairs.parquet", "results/s/lengths/summary.json", "results/s/lengths/first.jsonl"]
    assert shown([*others, page, summary]) == {
        page: ("Pages", {"Exhibit": "How long the responses are", "model": "{model}"}),
        summary: ("Pages", {"Exhibit": "Summary"}),
    }
    # What an extension writes elsewhere and otherwise is shown, too, in the best of its forms.
    assert shown(["results/s/lengths/long_ones.csv", "results/s/curve.pdf", "results/s/curve.png"]) == {
        "results/s/lengths/long_ones.csv": ("Pages", {"Exhibit": "Long ones"}),
        "results/s/curve.png": ("Pages", {"Exhibit": "Curve"}),
    }


def test_a_caption_is_the_template_with_what_is_shown() -> None:
    tricky = 'An "odd" {{ title }} %} with\nünïcode'
    outputs = ["results/s/{judge}/sweep.parquet", "results/s/{judge}/figures/figure_1_accuracies.png"]
    (entry,) = list_report_entries("accuracy", Accuracy(), outputs, tricky, "{{ exhibit.label }}|{{ exhibit.place }}")
    from jinja2 import Environment

    assert Environment().from_string(entry.caption).render() == f"\n{tricky}|1"
