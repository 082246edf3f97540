import polars as pl
import pytest
from frames import (
    DEFAULT,
    GROUPS,
    LABEL,
    UNLABELLED,
    SyntheticStudy,
    auroc_frame,
    draw_figure,
    estimate_rows,
    figure_inputs,
    sweep_rows,
    validation,
)
from matplotlib.figure import Figure
from observations import BESIDE

from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.rendering.exhibit_style import Style, paper_style
from entropy_sentinel.rendering.figure_style import write_figure
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import FIGURES
from entropy_sentinel.study.analyses.accuracy.accuracy_figures import (
    figure_2_entropy_densities,
    figure_4_errors_by_group_accuracy,
    figure_auroc_by_domain,
)
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC
from entropy_sentinel.study.analyses.accuracy.scatter_panels import (
    STRIP,
    STRIP_END,
    UNLABELLED_X,
    figure_1_accuracies,
    figure_3_accuracies_by_model,
    figure_validation,
)

pytestmark = pytest.mark.slow

GROUP = "arithmetic+words"
STYLE = Style(LABEL)


@pytest.fixture(scope="module")
def study() -> SyntheticStudy:
    return SyntheticStudy()


def observations(labels_and_entropies: list[tuple[bool | None, float | None]]) -> pl.DataFrame:
    rows = []
    for number, (label, entropy) in enumerate(labels_and_entropies):
        values = dict.fromkeys(FEATURES, 1.0) | {"max": entropy}
        rows.append(
            ("a", "math", f"math-{number}", 0, "test", label, None, 9, "stop", *values.values(), *BESIDE.values(), None)
        )
    return OBSERVATIONS.frame(rows)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def figure_1(estimates: pl.DataFrame, sweep: pl.DataFrame, model: str = "a") -> Figure:
    return figure_1_accuracies(
        figure_inputs(
            estimates=estimates, sweep=sweep, groups=GROUPS, headline_group="extremes", figure_model=model, style=STYLE
        )
    ).figure


def figure_2(labels_and_entropies: list[tuple[bool | None, float | None]]) -> Figure:
    return figure_2_entropy_densities(
        figure_inputs(
            observations=observations(labels_and_entropies), figure_model="a", figure_benchmark="math", style=STYLE
        )
    ).figure


def figure_4(sweep: pl.DataFrame, domains: pl.DataFrame) -> Figure:
    return figure_4_errors_by_group_accuracy(
        figure_inputs(sweep=sweep, domains=domains, default=DEFAULT, style=STYLE)
    ).figure


def names(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.long
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_written_with_the_same_bytes_twice(study, name, tmp_path):
    exhibit = Exhibit("figure", name, FIGURES[name].title)
    for folder in ("first", "second"):
        write_figure(exhibit, draw_figure(name, study.inputs()), tmp_path / folder)
    begins = {"pdf": b"%PDF", "png": b"\x89PNG", "html": b"<figure"}
    for suffix in begins:
        first = (tmp_path / "first" / f"figure_{name}.{suffix}").read_bytes()
        assert first == (tmp_path / "second" / f"figure_{name}.{suffix}").read_bytes()
        assert first.lstrip().startswith(begins[suffix])
    assert f"Study: {LABEL}" in [text.get_text() for text in draw_figure(name, study.inputs()).figure.texts]
    pdf = (tmp_path / "first" / f"figure_{name}.pdf").read_bytes()
    assert b"CreationDate" not in pdf
    assert b"/TrueType" in pdf or b"/CIDFontType2" in pdf
    assert b"/Type3" not in pdf


def test_the_picture_of_trust_has_a_point_and_an_interval_for_every_domain():
    known = validation(unlabelled=[(UNLABELLED, 0.6), ("riddles", None)])
    drawing = figure_validation(
        figure_inputs(validations=[known, validation("b", [("logic", None, 0.5)])], style=STYLE)
    )
    (axes,) = drawing.figure.axes  # nothing is known of the other model
    bars, labelled, more_bars, unlabelled = axes.collections
    assert labelled.get_offsets().tolist() == [[0.45, 0.3], [0.9, 0.8]]
    assert unlabelled.get_offsets().tolist() == [[UNLABELLED_X, 0.6]]
    ends = [segment[:, 1].tolist() for segment in (*bars.get_segments(), *more_bars.get_segments())]
    assert ends == [pytest.approx(pair) for pair in ([0.2, 0.4], [0.7, 0.9], [0.5, 0.7])]
    assert sorted(names(drawing.figure)) == ["logic", UNLABELLED, "words"]
    assert axes.get_title() == "a: usable\nAEE 0.125"
    assert "intervals at 90%" in drawing.caption
    assert "domains without labels" in drawing.caption


def test_both_axes_end_where_all_panels_do():
    """At the tenth above the largest value and end of a bar, .4 at least; the line of exact estimates ends there."""

    def ends(*estimated: float) -> tuple[float, ...]:
        cards = [validation(name, [("logic", one, 0.1)]) for name, one in zip("ab", estimated, strict=False)]
        axes = figure_validation(figure_inputs(validations=cards, style=STYLE)).figure.axes
        (same,) = {(*one.get_xlim(), *one.get_ylim(), one.lines[0].get_xdata()[1]) for one in axes}
        return same

    # Bars are 0.1 long.
    assert ends(0.12) == pytest.approx((-0.05, 0.436, -0.05, 0.436, 0.4))
    assert ends(0.12, 0.55) == pytest.approx((-0.05, 0.763, -0.05, 0.763, 0.7))
    assert ends(0.12, 0.95) == pytest.approx((-0.05, 1.09, -0.05, 1.09, 1.0))


@pytest.mark.parametrize("estimate", [0.05, 0.6])
def test_no_interval_lies_on_an_axis(estimate: float):
    """Neither the bar of a domain without labels, nor a bar that ends at or below zero."""
    drawing = figure_validation(
        figure_inputs(validations=[validation(unlabelled=[(UNLABELLED, estimate)])], style=STYLE)
    )
    for figure in (drawing.figure, drawing.narrow):
        (axes,) = figure.axes
        frame = axes.get_window_extent()
        for bars in axes.collections[::2]:
            for segment in bars.get_segments():
                (left, lower), (right, upper) = axes.transData.transform(segment)
                assert frame.x0 + 8 < left == right < frame.x1 - 8
                assert frame.y0 + 8 < lower < upper < frame.y1 - 8
        assert axes.get_xlim()[0] == STRIP < UNLABELLED_X < STRIP_END < 0
        assert min(axes.get_xticks()) == min(axes.get_yticks()) == 0


def test_figures_have_a_strip_only_for_domains_without_labels():
    known, unlabelled = validation(), validation("b", unlabelled=[(UNLABELLED, 0.6)])
    alone = figure_validation(figure_inputs(validations=[known], style=STYLE)).figure.axes
    both = figure_validation(figure_inputs(validations=[known, unlabelled], style=STYLE)).figure.axes
    assert [len(axes.patches) for axes in (*alone, *both)] == [0, 1, 1]


def test_no_text_of_a_figure_is_cut():
    """However long the names of models and benchmarks and the label are, also on a narrow page."""
    group = [f"a-benchmark-with-a-long-name-{number}" for number in range(9)]
    long, label = "a-model-with-a-name-" * 6, "a study of which much can be said and is " * 4
    rows = [(group[0], "training", 0.7, 0.8), ("logic", "held_out", 0.4, 0.2), (UNLABELLED, "held_out", 0.6, None)]
    estimates = pl.concat(estimate_rows(model, "+".join(group), rows) for model in (long, "b"))
    sweep = sweep_rows([0.2, 0.2], [None, None], [long, "b"], group="+".join(group))
    groups = {"extremes": {"benchmarks": group, "estimator": DEFAULT}}
    kinds = validation(long, unlabelled=[(UNLABELLED, 0.6)], verdict="too few domains to say")
    for drawing in (
        figure_1_accuracies(
            figure_inputs(
                estimates=estimates,
                sweep=sweep,
                groups=groups,
                headline_group="extremes",
                figure_model=long,
                style=Style(label),
            )
        ),
        figure_3_accuracies_by_model(
            figure_inputs(
                estimates=estimates, sweep=sweep, groups=groups, headline_group="extremes", style=Style(label)
            )
        ),
        figure_validation(figure_inputs(validations=[kinds], style=Style(label))),
        figure_3_accuracies_by_model(
            figure_inputs(
                estimates=estimates, sweep=sweep, groups=groups, headline_group="extremes", style=paper_style({}, {})
            )
        ),
    ):
        for figure in filter(None, (drawing.figure, drawing.narrow)):
            texts = [*figure.texts, *(axes.title for axes in figure.axes)]
            boxes = [figure.legends[0].get_window_extent(), *(text.get_window_extent() for text in texts)]
            assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
            assert all(figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in boxes)
            assert all(axes.get_position().height > 0.2 / len(figure.axes) for axes in figure.axes)


def test_a_figure_says_that_there_is_nothing_to_see(study):
    estimates, sweep = estimate_rows("a", GROUP, [("logic", "held_out", 0.4, 0.2)]), sweep_rows([0.2], [None], ["a"])
    nothing = {
        figure_1(estimates, sweep, "other"): "No results for this training group",
        figure_4(sweep_rows([None] * 3, [None] * 3), study.domains): "No training group has an AEE and an accuracy",
    }
    for unlabelled in ([], [(UNLABELLED, 0.6)]):
        figure = figure_validation(
            figure_inputs(validations=[validation(left_out=[], unlabelled=unlabelled)], style=STYLE)
        ).figure
        nothing[figure] = "No labelled domain was held out and estimated"
    for figure, message in nothing.items():
        assert ([text.get_text() for text in figure.texts], figure.axes) == ([f"Study: {LABEL}", message], [])


def test_panels_stand_below_each_other_on_a_narrow_page():
    cards = [validation(name, [("logic", 0.4, 0.1)]) for name in "ab"]
    drawing = figure_validation(figure_inputs(validations=cards, style=STYLE))
    below = drawing.narrow.axes
    assert [axes.get_title()[0] for axes in below] == ["a", "b"]
    assert below[0].get_position().y0 > below[1].get_position().y1
    assert drawing.figure.axes[0].get_position().x1 < drawing.figure.axes[1].get_position().x0


def test_figure_1_names_only_what_it_shows():
    estimates = estimate_rows("a", GROUP, [("words", "training", 0.7, 0.8)])
    figure = figure_1(estimates, sweep_rows([None], [None], ["a"]))
    assert figure.axes[0].get_title() == "a\nno estimate of an unseen domain with labels"
    (shown,) = figure.legends
    assert [text.get_text() for text in shown.get_texts()] == ["estimated = true", "training domain"]


def test_figure_1_places_true_accuracy_on_x_and_estimate_on_y():
    """A domain without labels is in the strip left of zero; one without an estimate is left out."""
    rows = [("words", "training", 0.7, 0.8), ("logic", "held_out", 0.4, 0.2), ("units", "held_out", None, None)]
    estimates = estimate_rows("a", GROUP, [*rows, (UNLABELLED, "held_out", 0.6, None)])
    figure = figure_1(estimates, sweep_rows([0.2], [None], ["a"]))
    axes = figure.axes[0]
    offsets = [points.get_offsets().tolist() for points in axes.collections]
    assert offsets == [[[0.8, 0.7]], [[0.2, 0.4]], [[UNLABELLED_X, 0.6]]]
    assert axes.get_title() == "a\nAEE 0.200 on unseen domains"
    assert sorted(names(figure)) == ["logic", UNLABELLED, "words"]
    nothing = estimate_rows("a", GROUP, rows[2:])
    assert names(figure_1(nothing, sweep_rows([None], [None], ["a"]))) == []


@pytest.mark.parametrize(("n_domains", "message"), [(4, "AEE 0.200"), (5, "AEE 0.200, rho 0.900")])
def test_the_title_of_figure_1_has_a_rho_over_five_domains_or_more(n_domains: int, message: str):
    estimates = estimate_rows("a", GROUP, [("logic", "held_out", 0.4, 0.2)])
    sweep = sweep_rows([0.2], [0.9], ["a"]).with_columns(n_domains=pl.lit(n_domains, pl.UInt8))
    assert figure_1(estimates, sweep).axes[0].get_title() == f"a\n{message} on unseen domains"


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_figure_3_has_a_panel_per_model(count):
    models = [f"model-{number}" for number in range(count)]
    estimates = pl.concat(estimate_rows(model, GROUP, [("logic", "held_out", 0.4, 0.2)]) for model in models)
    sweep = sweep_rows([0.2] * count, [None] * count, models)
    figure = figure_3_accuracies_by_model(
        figure_inputs(estimates=estimates, sweep=sweep, groups=GROUPS, headline_group="extremes", style=STYLE)
    ).figure
    assert [axes.get_title().splitlines()[0] for axes in figure.axes] == models


def test_figure_2_counts_labelled_rows_with_features():
    rows = [(True, 0.1), (True, 0.2), (False, 0.9), (False, 1.2), (False, 1.0), (None, 1.0), (True, None)]
    figure = figure_2(rows)
    assert legend(figure) == ["correct (2 responses)", "incorrect (3 responses)"]
    assert len(figure.axes[0].collections) == 2


def test_figure_2_shows_a_line_for_a_class_without_a_density_and_nothing_for_an_empty_one():
    figure = figure_2([(True, 0.1), (True, 0.1), (False, 0.9)])
    of_one_value = ["correct (2 responses), all at one value", "incorrect (1 response), all at one value"]
    assert legend(figure) == of_one_value
    assert [line.get_xdata()[0] for line in figure.axes[0].lines] == [0.1, 0.9]
    assert legend(figure_2([(True, 0.1), (True, 0.2)])) == ["correct (2 responses)", "incorrect (0 responses)"]


def test_figure_2_gives_a_class_a_panel_of_its_own_where_the_other_would_flatten_it():
    wrong = [(False, 0.3 * number) for number in range(10)]
    flat, alike = (
        figure_2([(True, 0.001 * n) for n in range(10)] + wrong),
        figure_2([(True, 0.3)] * 5 + [(True, 0.9)] * 5 + wrong),
    )
    assert (len(flat.axes), len(alike.axes)) == (2, 1)
    assert [axes.get_legend().get_texts()[0].get_text() for axes in flat.axes] == [
        "correct (10 responses)",
        "incorrect (10 responses)",
    ]
    # Each fills its own scale, over the same entropies.
    for axes in flat.axes:
        peak = max(line.get_ydata().max() for line in axes.lines)
        assert axes.get_ylim()[1] == pytest.approx(peak * 1.05, rel=0.02)
    assert flat.axes[0].get_xlim() == flat.axes[1].get_xlim()


def test_the_heat_map_has_every_feature_and_domain_and_says_what_is_of_one_class():
    unlabelled = auroc_frame(["b"]).with_columns(
        auroc=None, n_correct=0, n_incorrect=0, reason=pl.lit("no response with a label and features")
    )
    auroc = pl.concat([auroc_frame(["a"]), unlabelled.cast(dict(AUROC.schema))])
    figure = figure_auroc_by_domain(figure_inputs(auroc=auroc, style=STYLE)).figure
    first, second, _ = figure.axes
    # Features are numbered: 0.5, 0.51 and so on; `y` has no incorrect response.
    assert first.images[0].get_array()[0].tolist() == pytest.approx([0.5 + n / 100 for n in range(17)])
    assert [text.get_text() for text in first.texts] == [
        *(f".{50 + n}" for n in range(17)),
        "one class: all 10 responses are correct",
    ]
    assert [text.get_text() for text in second.texts] == ["no response with a label and features"] * 2
    assert [label.get_text() for label in first.get_yticklabels()] == ["x (10)", "y (0)"]
    assert [label.get_text() for label in second.get_xticklabels()][:3] == ["Mean", "Std dev", "Max"]


def test_figure_4_draws_the_default_on_unseen_domains(study):
    figure = figure_4(study.sweep, study.domains)
    # 6 groups of one benchmark, 15 of two and 20 of three; those of five are too large.
    assert figure.axes[0].get_title() == "41 training groups, 2 models"
    assert len(figure.axes[0].collections[0].get_offsets()) == 2 * 41


def test_figure_4_has_the_median_of_either_scope(study):
    sweep = pl.concat(
        [
            sweep_rows([0.1, 0.2, 0.6], [1.0] * 3, group="logic"),
            sweep_rows([0.3, 0.4, 0.4], [1.0] * 3, group="logic", scope="all"),
            sweep_rows([0.9, None, 0.5], [1.0] * 3, group="words"),
            sweep_rows([0.7, 0.7, 0.8], [1.0] * 3, group="words", scope="all"),
        ]
    )
    figure = figure_4(sweep, study.domains)
    unseen, over_all = figure.axes[0].lines
    # Two groups of different accuracies: the first and the last bin, whichever way round.
    assert sorted(unseen.get_ydata()) == [0.2, 0.7]
    assert sorted(over_all.get_ydata()) == [0.4, 0.7]
    assert over_all.get_linewidth() < unseen.get_linewidth()
    assert legend(figure) == [
        "one model and group, unseen domains",
        "IQR of a bin, unseen domains",
        "median of a bin, unseen domains",
        "median of a bin, all domains",
    ]
