"""What people write by mistake, or by the habits of other libraries: it works, or names the fix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import Gaussian, KernelRidge, KernelSVC, Laplacian, Linear, Matern, Polynomial
from mercer.kernels import parse

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
T = X[:, 0] + 0.1 * X[:, 1]


def search(model, **grid):
    return GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, Y)


def run(line: str) -> None:
    exec(line, {})  # noqa: S102 - the line is one of this file


WORKS = {
    "gamma of SVC": lambda: KernelSVC(gamma=0.1).fit(X, Y).kernel_ == Gaussian(gamma=0.1),
    "the words of SVC": lambda: KernelSVC(kernel="poly", degree=2, coef0=1).fit(X, Y),
    "gamma in a grid": lambda: search(KernelSVC(), gamma=[0.1, 1.0]),
    "a kernel in a grid": lambda: search(KernelSVC(), kernel=["rbf", "linear"], C=[1, 10]),
    "a class as kernel": lambda: KernelSVC(Gaussian).fit(X, Y).kernel_.sigma != 1.0,
    "a kernel of scikit-learn": lambda: KernelSVC(rbf_kernel).fit(X, Y).score(X, Y) > 0.9,
    "a function of two rows": lambda: KernelSVC(lambda a, b: float(a @ b)).fit(X, Y),
    "gamma of a Gaussian": lambda: Gaussian(gamma=0.5) == Gaussian(1.0),
    "length_scale": lambda: Matern(length_scale=2.0) == Matern(length=2.0),
    "sigma of a Laplacian": lambda: Laplacian(sigma=2.0) == Laplacian(0.5),
    "coef0": lambda: Polynomial(2, coef0=1) == Polynomial(2, offset=1),
    "kernel__gamma": lambda: KernelSVC().set_params(kernel__gamma=0.5).kernel == Gaussian(1.0),
    "the path of a README": lambda: KernelSVC("rbf + linear").set_params(kernel__left__sigma=2.0),
    "a short path": lambda: search(KernelSVC("2*rbf + linear"), kernel__gaussian__sigma=[1.0]),
    "a name without brackets": lambda: parse("gaussian") == Gaussian("scale"),
    "rbf in an expression": lambda: parse("rbf(gamma=0.5)") == Gaussian(1.0),
    "two numbers": lambda: Gaussian()(1.0, 2.0) == pytest.approx(np.exp(-0.5)),
    "sum()": lambda: sum([Gaussian(), Linear()])(X).shape == (40, 40),
    "lists": lambda: KernelSVC().fit(X.tolist(), Y.tolist()).predict(X[:2].tolist()).shape == (2,),
    "truth values": lambda: KernelSVC().fit(X > 0, Y > 0),
    "labels in words": lambda: KernelSVC().fit(X, np.where(Y, "yes", "no")).classes_[0] == "no",
    "an expression to prove": lambda: mercer.prove("rbf + linear"),
    "a shape of images": lambda: (
        mercer.kernels.TangentDistance(shape=(4, 4)) == mercer.kernels.TangentDistance(4, 4)
    ),
    "fit returns the model": lambda: KernelRidge().fit(X, T).predict(X).shape == (40,),
}


@pytest.mark.parametrize("name", WORKS)
def test_it_works(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert WORKS[name]()


NAMES_THE_FIX = {
    "SVC": (lambda: mercer.SVC, r"is called mercer\.KernelSVC"),
    "RBF": (lambda: mercer.RBF, r"is called mercer\.Gaussian"),
    "import of SVC": (lambda: run("from mercer import SVC"), r"called mercer\.KernelSVC"),
    "import from a module": (
        lambda: run("from mercer.maps import Nystroem"),
        r"called mercer\.maps\.NystromMap",
    ),
    "a map": (lambda: mercer.PolynomialMap, r"it is mercer\.maps\.PolynomialMap"),
    "a kernel's typo": (lambda: mercer.Gausian, "Did you mean 'Gaussian'"),
    "kernels.RBF": (lambda: mercer.kernels.RBF, r"is called mercer\.kernels\.Gaussian"),
    "learners.SVR": (lambda: mercer.learners.SVR, r"is called mercer\.learners\.KernelSVR"),
    "a data set's typo": (lambda: mercer.data.moon, "Did you mean 'moons'"),
    "a plot's typo": (lambda: mercer.plot.decision_region, "Did you mean 'decision_regions'"),
    "lam": (
        lambda: KernelRidge(lam=1.0),
        "KernelRidge has no parameter 'lam'. Did you mean 'alpha'",
    ),
    "C of a ridge": (lambda: KernelRidge(C=1.0), "Did you mean 'alpha'"),
    "sigma of a learner": (lambda: KernelRidge(sigma=1.0), r"kernel=Gaussian\(sigma=…\)"),
    "max_iter": (lambda: mercer.KernelPerceptron(max_iter=3), "Did you mean 'epochs'"),
    "epoch": (lambda: mercer.Perceptron(epoch=3), "Perceptron has no .* mean 'epochs'"),
    "a map's degre": (lambda: mercer.maps.PolynomialMap(degre=3), "Did you mean 'degree'"),
    "k": (lambda: mercer.KernelNeighborsClassifier(k=3), "Did you mean 'n_neighbors'"),
    "h": (lambda: mercer.NadarayaWatsonRegressor(h=3), "Did you mean 'bandwidth'"),
    "set sigma": (lambda: KernelSVC().set_params(sigma=1.0), "kernel__sigma"),
    "set a typo": (lambda: KernelSVC().set_params(kernel__sigm=2), "Did you mean 'sigma'"),
    "a typo in a grid": (lambda: search(KernelSVC(), kernel__sigmas=[1]), "Did you mean 'sigma'"),
    "a keyword's typo": (lambda: Gaussian(sgima=1), "Did you mean 'sigma'"),
    "gamma beside a kernel": (lambda: KernelSVC(Linear(), gamma=1).fit(X, Y), "bare name .* 'rbf'"),
    "gamma='auto'": (lambda: KernelSVC(gamma="auto").fit(X, Y), "'scale', 'median'"),
    "a negative width": (lambda: Gaussian(-1), "sigma must be a positive number"),
    "a width's typo": (lambda: Gaussian("meidan"), "'scale' or 'median', got 'meidan'"),
    "a fractional degree": (lambda: Polynomial(2.5), "whole number .* fractional power"),
    "Matérn of any ν": (lambda: Matern(1.0), "one of 0.5, 1.5, 2.5"),
    "a kernel's name misspelled": (lambda: KernelSVC("gausian").fit(X, Y), "you mean 'gaussian'"),
    "a wrong keyword": (lambda: parse("gaussian(gama=1)"), "Did you mean 'gamma'"),
    "no sign of product": (lambda: parse("2 gaussian()"), r"written like '2\*gaussian"),
    "an open bracket": (lambda: parse("gaussian(1"), "'\\(' was never closed"),
    "data as kernel": (lambda: KernelSVC(X, Y).fit(X, Y), r"Data go to fit\(X, y\)|C must be"),
    "a number as kernel": (lambda: KernelSVC(3).fit(X, Y), "is the kernel, got 3: C=3"),
    "a word before fit": (lambda: Gaussian("scale")(X), r"kernel\.fitted\(X\)"),
    "one row": (lambda: Gaussian()(X[0], X[1]), r"X\.reshape\(1, -1\) for one row"),
    "one column": (lambda: KernelRidge().fit(T, T), r"reshape\(-1, 1\)"),
    "images in three axes": (lambda: KernelSVC().fit(X.reshape(10, 4, 3), Y[:10]), r"reshape\(len"),
    "a dict": (lambda: KernelSVC().fit({"a": 1}, Y), "pandas.DataFrame"),
    "text": (lambda: KernelSVC().fit(["ab", "ba"], [0, 1]), r"kernel on strings .*spectrum\(3\)"),
    "numbers for strings": (lambda: KernelSVC("spectrum(2)").fit(X, Y), "needs str, bytes"),
    "NaN": (
        lambda: KernelSVC().fit(np.where(X > 1, np.nan, X), Y),
        "SimpleImputer.*mercer.compare",
    ),
    "numbers as classes": (lambda: KernelSVC().fit(X, T), "regression target"),
    "words as numbers": (lambda: KernelRidge().fit(X, np.where(Y, "a", "b")), "use a classifier"),
    "one class": (lambda: KernelSVC().fit(X, np.ones(40)), "needs at least 2 classes"),
    "rows that do not match": (lambda: KernelSVC().fit(X, Y[:5]), r"inconsistent.*\[40, 5\]"),
    "columns that do not match": (lambda: KernelSVC().fit(X, Y).predict(X[:, :2]), "expecting 3"),
    "predict before fit": (lambda: KernelSVC().predict(X), "not fitted yet. Call 'fit'"),
    "a matrix that is not square": (
        lambda: KernelSVC("precomputed").fit(X, Y),
        "must be square.*fit takes k between all training examples",
    ),
    "rows for a matrix": (
        lambda: KernelSVC("precomputed").fit(X @ X.T, Y).predict(X),
        "k between each new example and every training example",
    ),
    "a width too many": (lambda: KernelSVC(Gaussian([1.0, 2.0])).fit(X, Y), "data has 3 columns"),
    "a column that is not there": (lambda: Gaussian().on([7])(X), "no column 7; there are 3"),
    "names of an array": (lambda: Gaussian().on(["a"])(X), "give an index, or a DataFrame"),
    "a solver's typo": (
        lambda: KernelRidge(solver="choleski").fit(X, T),
        "Did you mean 'cholesky'",
    ),
    "C = 0": (lambda: KernelSVC(C=0).fit(X, Y), "C must be a number, positive"),
    "too many neighbors": (
        lambda: mercer.KernelNeighborsClassifier(n_neighbors=100).fit(X, Y).predict(X),
        "n_neighbors is too large",
    ),
    "a rule of thumb by name": (
        lambda: mercer.NadarayaWatsonRegressor(bandwidth="silverman").fit(X, T),
        "one of 'auto', 'rule', or a number",
    ),
    "class_weight's typo": (lambda: KernelSVC(class_weight="balance").fit(X, Y), "'balanced'"),
    "coef_ of a Gaussian": (lambda: KernelSVC().fit(X, Y).coef_, "mercer.maps.NystromMap"),
    "features of a Gaussian": (lambda: Gaussian().feature_map(3), "mercer.maps.NystromMap"),
    "a memory size": (lambda: mercer.config(memory="4 gigs"), "looks like '4GB'"),
    "a device": (lambda: mercer.config(device="gpu"), "'cpu', 'cuda'"),
    "a file that is not there": (lambda: mercer.load("nofile"), "there is no file nofile"),
    "no targets": (lambda: mercer.compare(X), "give y, the name of a column"),
}


@pytest.mark.parametrize("name", NAMES_THE_FIX)
def test_the_answer_names_the_fix(name) -> None:
    mistake, fix = NAMES_THE_FIX[name]
    with pytest.raises((TypeError, ValueError, AttributeError, ImportError, OSError), match=fix):
        mistake()


def test_there_are_at_least_sixty() -> None:
    assert len(NAMES_THE_FIX) >= 60


def test_probabilities_have_to_be_asked_for() -> None:
    with pytest.raises(AttributeError) as told:
        KernelSVC().fit(X, Y).predict_proba(X)
    assert "probability=True" in str(told.value.__cause__)
    assert not hasattr(KernelSVC(), "predict_proba")


def test_a_name_that_is_not_there_is_none() -> None:
    """What asks whether a module has a name gets an answer, not an exception."""
    for module in (mercer, mercer.kernels, mercer.data, mercer.plot, mercer.maps, mercer.learners):
        assert not hasattr(module, "SVC")
        assert getattr(module, "__wrapped__", None) is None


def test_a_column_of_text_is_named() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city="Rome")
    with pytest.raises(
        ValueError, match=r"column 'city' holds text such as 'Rome'.*\.on\("
    ) as told:
        KernelSVC().fit(frame, Y)
    assert "OneHotEncoder" in str(told.value)
    assert "mercer.compare" in str(told.value)
    with pytest.raises(ValueError, match=r"no column 'zip'; the columns are \['a', 'b', 'c'"):
        KernelSVC(Gaussian().on(["zip"])).fit(frame, Y)
