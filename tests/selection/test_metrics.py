"""Metrics of answers, scores and probabilities, in the race and in the headline."""

import numpy as np
import pytest
from sklearn import metrics as peer

import mercer
from mercer.selection import compare
from mercer.selection.metrics import average_precision, metric_of, neg_log_loss, roc_auc
from mercer.selection.scores import cross_calibrated

FEW = {"kernels": ["gaussian(1)"], "learners": ["ridge", "logistic", "neighbors"], "cv": 2}


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_scores_agree_with_scikit_learn(classes):
    random = np.random.default_rng(0)
    truth = random.integers(classes, size=200)
    scores = (random.normal(size=(200, classes)) + 2 * np.eye(classes)[truth]).round(1)  # ties
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    said, how = (chances[:, 1], {}) if classes == 2 else (chances, {"multi_class": "ovr"})
    assert roc_auc(truth, chances) == pytest.approx(peer.roc_auc_score(truth, said, **how))
    hot = np.eye(classes)[truth]
    mean = peer.average_precision_score(truth if classes == 2 else hot, said)
    assert average_precision(truth, chances) == pytest.approx(mean)
    assert neg_log_loss(truth, chances) == pytest.approx(-peer.log_loss(truth, chances))


def test_quantiles_and_short_names():
    truth, said = np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 1.0])
    for name, quantile in (("pinball", 0.5), ("pinball(0.9)", 0.9), ("pinball(.25)", 0.25)):
        loss = peer.mean_pinball_loss(truth, said, alpha=quantile)
        assert metric_of("regression", name)[1](truth, said) == pytest.approx(-loss)
    assert metric_of("regression", "rmse")[0] == "neg_root_mean_squared_error"
    with pytest.raises(ValueError, match=r"balanced_acuracy.*balanced_accuracy"):
        metric_of("classification", "balanced_acuracy")
    with pytest.raises(ValueError, match="a metric for classification"):
        metric_of("classification", "pinball(0.9)")


@pytest.mark.parametrize("metric", ["auc", "ap", "log_loss"])
def test_every_learner_is_judged_by_scores(metric):
    X, y = mercer.data.moons(80)
    names = np.array(["no", "yes"])[(y > 0).astype(int)]
    board = compare(X, names, metric=metric, holdout=0.3, rivals=["linear"], **FEW)
    low, high = (0.6, 1.0) if metric != "log_loss" else (-0.6, 0.0)
    tried = [row for row in board.rows if row is not board.baseline]
    assert len(tried) == 4
    assert all(low < row.mean <= high for row in tried)
    assert low < board.headline.low <= board.headline.score <= board.headline.high <= high
    expected = {"auc": 0.5, "ap": 0.5, "log_loss": np.log(0.5)}[metric]
    assert board.baseline.mean == pytest.approx(expected, abs=0.05)


def test_three_classes_are_judged_by_scores():
    X = np.random.default_rng(0).normal(size=(90, 2)) + 2 * np.eye(3, 2)[np.arange(90) % 3]
    board = compare(X, np.arange(90) % 3, metric="roc_auc", holdout=None, **FEW)
    assert board.best_row.mean > 0.7
    assert "AUC %" in str(board)


def test_a_function_of_the_user_sees_the_names_of_classes():
    X, y = mercer.data.moons(60)
    names = np.array(["no", "yes"])[(y > 0).astype(int)]

    def recall(truth, said):
        assert set(truth) <= {"no", "yes"}
        return float(np.mean(said[truth == "yes"] == "yes"))

    board = compare(X, names, metric=recall, holdout=0.3, **FEW)
    assert board.metric == "recall"
    assert board.best_row.mean > 0.7
    assert board.headline.score > 0.5


def test_cross_calibrated_probabilities_have_the_right_mean():
    random = np.random.default_rng(0)
    scores = random.normal(size=400)
    truth = (random.random(400) < 1 / (1 + np.exp(-3 * scores))).astype(int)
    made = cross_calibrated(np.column_stack([-scores, scores]), truth)
    np.testing.assert_allclose(made.sum(axis=1), 1.0)
    assert made[:, 1].mean() == pytest.approx(truth.mean(), abs=0.03)
    assert np.mean(np.abs(made[:, 1] - 1 / (1 + np.exp(-3 * scores)))) < 0.05


def test_weights_of_classes_move_the_answers():
    random = np.random.default_rng(0)
    y = np.where(random.random(200) < 0.1, "rare", "usual")
    X = random.normal(size=(200, 1)) + (y == "rare")[:, None]
    found = {}
    for weight in (None, "balanced", {"rare": 9.0, "usual": 1.0}):
        board = compare(X, y, class_weight=weight, metric="balanced_accuracy", holdout=None,
                        rivals=["linear", "boosting"], **FEW)  # fmt: skip
        found[str(weight)] = np.mean(board.best.predict(X) == "rare")
        assert {r.learner for r in board.rows if r.rival} == {"linear", "boosting"}
    plain, *others = found.values()
    assert all(share > plain + 0.1 for share in others)
    with pytest.raises(ValueError, match="names 'odd'; the classes are"):
        compare(X, y, class_weight={"odd": 2.0}, **FEW)
    with pytest.raises(ValueError, match="targets are numbers"):
        compare(X, X[:, 0], class_weight="balanced", **FEW)


@pytest.mark.parametrize("learner", ["ridge", "svm", "logistic"])
def test_probabilities_are_calibrated_and_stored(learner, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.where(random.random(300) < chance, "yes", "no")
    board = compare(X, y, probabilities=True, kernels=["linear()"], learners=[learner], cv=3,
                    holdout=None)  # fmt: skip
    made = board.best.predict_proba(X)[:, 1]
    assert np.mean(np.abs(made - chance)) < 0.08
    assert board.best_row.learner.startswith("Kernel")
    mercer.save(board.best, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict_proba(X)[:, 1], made)
    np.testing.assert_array_equal(again.predict(X), board.best.predict(X))


def test_a_loss_of_probabilities_gives_a_model_that_has_them():
    X = np.random.default_rng(0).normal(size=(90, 2)) + 3 * np.eye(3, 2)[np.arange(90) % 3]
    board = compare(X, np.arange(90) % 3, metric="log_loss", holdout=0.3, rivals=["nearest"],
                    kernels=["gaussian(1)"], learners=["ridge"], cv=3)  # fmt: skip
    made = board.best.predict_proba(X)
    np.testing.assert_allclose(made.sum(axis=1), 1.0)
    assert np.all(board.headline.predictions.probable)
    assert board.headline.score > np.log(1 / 3)
    with pytest.raises(ValueError, match="targets are numbers"):
        compare(X, X[:, 0], probabilities=True)
