"""The pages of the site that are made from the package, and what looks over the built site; `make docs` builds it."""

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import entropy_sentinel as es
from entropy_sentinel.cli.main import COMMANDS, app
from entropy_sentinel.features.feature_registry import CATALOGUE, EXTRAS
from entropy_sentinel.logs.format_registry import FORMATS
from entropy_sentinel.study.engines.generation_section import Sampling
from made import catalogues, codes, commands, config_keys, contracts, links, markdown, rooms, verbs

ROOT = Path(__file__).parents[2]


def row(page: str, first: str) -> list[str]:
    """The cells of the row of a page whose first cell holds `first` as code."""
    (result,) = [
        line for line in page.splitlines() if line.startswith("|") and f"<code>{first}</code>" in line.split("|")[1]
    ]
    return [cell.strip() for cell in result.strip("|").split("|")]


def section(page: str, heading: str) -> str:
    return re.split(r"^#+ ", page.partition(heading)[2], maxsplit=1, flags=re.MULTILINE)[0]


def test_a_key_has_its_meaning_type_and_default() -> None:
    keys = section(config_keys.page(), "### generation.sampling {")
    assert row(keys, "top_p")[1:] == [
        markdown.plain(Sampling.model_fields["top_p"].description),
        "number &gt; 0, ≤ 1",
        "<code>1.0</code>",
    ]
    assert row(keys, "max_tokens")[2:] == ["whole number ≥ 1, ≤ 1,048,576", "<code>2048</code>"]


def test_a_key_of_only_some_kinds_names_them() -> None:
    models = section(config_keys.page(), "## models.NAME {")
    assert row(models, "lora")[-1] == "<code>id</code>, <code>path</code>"
    assert row(models, "engine_args")[-1] == "all"
    assert row(models, "id")[-2] == "required"
    assert "commit" in row(models, "revision")[1]
    assert "server" in row(models, "revision")[1]


def test_every_key_of_the_papers_config_is_on_the_page() -> None:
    page, known = config_keys.page(), config_keys.keys()
    paper = yaml.safe_load((ROOT / "config.yaml").read_text())
    for top, section_of in (
        ("models", paper["models"]),
        ("benchmarks", paper["benchmarks"]),
        ("judges", paper["judges"]),
    ):
        for entry in section_of.values():
            assert {f"{top}.NAME.{key}" for key in entry} <= known.keys()
    for name in known:
        assert f'id="key-{name}"' in page, name


def test_every_command_has_its_options() -> None:
    page = commands.page()
    for name in COMMANDS:
        message = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", message.partition("Commands:")[0])) - {"--help"}
        assert options
        described = section(page, f"## {name}\n")
        assert not [option for option in options if option not in described], name


def test_every_verb_is_documented_once() -> None:
    page = verbs.page()
    headings = re.findall(r"heading: es\.(\w+)", page)
    assert sorted(headings) == sorted(es._VERBS)
    assert "::: entropy_sentinel.api.response_reading.features\n" in page
    assert "::: entropy_sentinel.estimators.fitted_estimator.FittedEstimator\n" in page


def test_the_page_of_a_verb_lists_its_options() -> None:
    """As `help(es.fit)` does; the source has only `**options`."""
    griffe = pytest.importorskip("griffe", reason="mkdocstrings is not installed (make docs)")
    from made.options import ListOptions

    path = ROOT / "workflow" / "entropy_sentinel" / "api" / "estimation.py"
    fit = griffe.visit("entropy_sentinel.api.estimation", path, path.read_text())["fit"]
    ListOptions().on_function(func=fit)
    assert "options" not in fit.parameters
    assert (str(fit.parameters["far_off"].annotation), fit.parameters["far_off"].default) == ("float", "0.25")
    assert "    far_off: An estimator is not usable if" in fit.docstring.value


def test_every_signal_is_documented() -> None:
    page = catalogues.signals()
    for name, feature in (CATALOGUE | EXTRAS).items():
        assert (
            row(section(page, "## Features\n") if name in CATALOGUE else section(page, "## Other columns"), name)[2]
            == feature.unit
        )
    assert row(section(page, "## Features\n"), "mtp")[3] == "more certain"


def test_text_is_not_markdown_except_for_code() -> None:
    assert markdown.plain("a_b <c> | `d_e|f`\ng*") == "a\\_b &lt;c&gt; &#124; <code>d_e&#124;f</code> g\\*"


@pytest.mark.parametrize("make", [catalogues.estimators, catalogues.judges, catalogues.slices, catalogues.exhibits])
def test_catalogues_have_rows_and_no_gaps(make: object) -> None:
    page = make()
    assert page.count("\n| ") > 8
    assert "|  |" not in page
    assert "None" not in page


def test_each_code_is_documented_once_with_what_to_do() -> None:
    page, members = codes.page(), [member for family in codes.families() for member in family]
    assert len({member.number for member in members}) == len(members) > 30
    for member in members:
        assert re.fullmatch(r"ES[1-9]\d\d", member.number)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", member.slug)
        number, slug, _, meaning, remedy = row(page, member.number)
        assert slug == f"<code>{member.slug}</code>", number
        assert meaning.endswith(".")
        assert remedy.endswith(".") or not member.remedy
    for family in codes.families():
        assert len({member.slug for member in family}) == len(family)


def test_each_format_has_a_record_and_says_what_to_ask_of_the_server() -> None:
    page = catalogues.formats()
    sections = page.split("\n## ")[1:]
    assert [section.split("\n")[0] for section in sections] == list(FORMATS)
    assert all("Ask for log-probabilities: " in section for section in sections)
    assert [section.split("\n")[0] for section in sections if "```json" not in section] == ["inspect"]


def test_each_contract_is_documented_once_with_units() -> None:
    page = contracts.page()
    headings = re.findall(r"^## (\w+)", page, re.MULTILINE)
    assert len(headings) == len(set(headings)) > 8
    assert row(section(page, "## generations\n"), "token_logprobs")[2] == "nats"


def test_the_picture_has_every_folder_and_only_downward_lines() -> None:
    picture, floors = rooms.picture(), rooms.floors()
    assert [name for name in floors if f">{name}</text>" not in picture] == []
    assert rooms.imports()["study/stages", "schemas"] > 3
    assert all(floors[above] >= floors[below] for above, below in rooms.imports() if {above, below} <= floors.keys())


def test_an_indirect_import_is_not_drawn() -> None:
    assert rooms.direct({("a", "b"), ("b", "c"), ("a", "c"), ("a", "d")}) == {("a", "b"), ("b", "c"), ("a", "d")}


@pytest.mark.parametrize(
    ("page", "text", "message"),
    [
        ("index.md", "[a](docs/monitor.md#3-watch)", "[a](monitor.md#3-watch)"),
        ("index.md", "[a](CHANGELOG.md)", "[a](changelog.md)"),
        ("monitor.md", "[a](../demo/full.yaml)", "[a](repository/demo/full.yaml)"),
        ("monitor.md", "[a](../README.md) [b](judges.md)", "[a](index.md) [b](judges.md)"),
        ("reference/config.md", "[a](../judges.md#an-llm)", "[a](../judges.md#an-llm)"),
        ("gallery.md", '<img src="gallery/a.png" width="8">', '<img src="gallery/a.png" width="8">'),
        ("index.md", "[a](https://a.org/b) [c](#d)", "[a](https://a.org/b) [c](#d)"),
        (
            "index.md",
            "`[a](docs/x.md)`\n\n```\n[a](docs/x.md)\n```\n",
            "`[a](docs/x.md)`\n\n```\n[a](docs/x.md)\n```\n",
        ),
    ],
)
def test_links_hold_in_the_site(page: str, text: str, message: str) -> None:
    assert links.in_site(text, page) == message


def test_files_linked_outside_docs_are_copied() -> None:
    assert list(links.copies("[a](../demo/full.yaml) [b](../README.md) [c](servers.md)", "gallery.md")) == [
        "demo/full.yaml"
    ]


@pytest.mark.parametrize(
    "name",
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/real/README.md", "docs/gallery.md", "docs/selection.md"],
)
def test_links_in_repository_pages_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    for link in re.findall(r"(?:\]\(|src=\")([^)#\"]+)(?:#[^)]*)?[)\"]", text):
        assert "://" in link or ((ROOT / name).parent / link).exists(), link


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("nav:\n")[2]
    for path in (ROOT / "docs").glob("*.md"):
        assert f": {path.name}\n" in nav, path.name


def test_pictures_open_in_full_size() -> None:
    linked = '<a href="elsewhere"><img src="b.png" alt="b"></a>'
    made = links.with_full_size(f'<p><img alt="a" src="a.png" width="10"></p>{linked}')
    assert made == f'<p><a href="a.png"><img alt="a" src="a.png" width="10"></a></p>{linked}'
