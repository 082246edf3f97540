"""Several answers to one question: what is learned from one must not be tested on another."""

import numpy as np
import pytest
from rows import SETTINGS, frame
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from entropy_sentinel.estimators.estimator_base import CannotFit, FitFailure
from entropy_sentinel.estimators.forest import fit_grid
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows

SAMPLES, ITEMS = 10, 60
GRID = [{"max_depth": 10, "min_samples_split": 2, "n_estimators": 50}]


def near_copies() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features that know nothing of the label, nearly the same for all answers to an item; labels; items."""
    random = np.random.default_rng(0)
    items = np.repeat(np.arange(ITEMS), SAMPLES)
    values = random.normal(size=ITEMS)[items] + random.normal(scale=1e-3, size=len(items))
    return values, (random.permutation(ITEMS) % 2 == 0)[items], items


def out_of_fold(rows: TrainingRows) -> float:
    """The AUROC of a forest on the answers that it was not fitted on."""
    x, p = rows.scaled(("max",)), np.empty(len(rows))
    for train, test in rows.splits:
        p[test] = fit_grid(x[train], rows.y[train], False, GRID, seed=0).classifier(0).predict_proba(x[test])[:, 1]
    return roc_auc_score(rows.y, p)


def test_near_copies_of_an_answer_teach_nothing():
    values, labels, items = near_copies()
    assert out_of_fold(TrainingRows(frame(max=values), labels, SETTINGS)) > 0.99, "what folds over answers pretend"
    assert out_of_fold(TrainingRows(frame(max=values), labels, SETTINGS, items=items)) < 0.65


def test_folds_are_those_of_scikit_learn():
    values, labels, items = near_copies()
    rows, n_folds = TrainingRows(frame(max=values), labels, SETTINGS, items=items), SETTINGS["folds"]
    grouped = StratifiedGroupKFold(n_folds, shuffle=True, random_state=SETTINGS["seed"])
    for (train, test), (_, expected) in zip(rows.splits, grouped.split(values, labels, items), strict=True):
        assert (test == expected).all()
        assert not set(items[train]) & set(items[test])
    first = np.flatnonzero(np.arange(len(items)) % SAMPLES == 0)
    once = TrainingRows(frame(max=values[first]), labels[first], SETTINGS, items=items[first])
    plain = StratifiedKFold(n_folds, shuffle=True, random_state=SETTINGS["seed"]).split(values[first], labels[first])
    assert all((test == expected).all() for (_, test), (_, expected) in zip(once.splits, plain, strict=True))


def test_answers_to_one_question_are_one_label_on_the_card():
    values, labels, items = near_copies()
    domains = np.array(["a", "b", "c"])[items % 3]
    validation = validate_estimator(TrainingRows(frame(max=values), labels, SETTINGS, domains, items), "atc-max")
    assert [domain.n for domain in validation.domains] == [ITEMS // 3] * 3


def test_a_part_keeps_its_items():
    values, labels, items = near_copies()
    rows = TrainingRows(frame(max=values), labels, SETTINGS, items=items)
    assert (rows.part(items < 20).items == items[items < 20]).all()


def test_folds_need_items_of_both_classes_not_answers():
    values, labels, items = np.arange(80.0), np.repeat([True, False], [30, 50]), np.repeat(np.arange(8), 10)
    rows = TrainingRows(frame(max=values), labels, SETTINGS, items=items)
    with pytest.raises(CannotFit, match="3 training items"):
        _ = rows.splits
    result = rows.fit("forest-3d-balanced-isotonic")
    assert isinstance(result, FitFailure)
    assert "3 training items" in result.reason
