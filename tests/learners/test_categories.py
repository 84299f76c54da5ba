"""Categories that are words reach the kernels that compare them, in every learner."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

import mercer
from mercer.learners import (
    KernelCentroidClassifier,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    NadarayaWatsonClassifier,
)

FRAME = pd.DataFrame({"a": list("xyxzxyzzyx"), "b": list("uvuvuvuvvu")})
Y = np.array(list("ababbaabab"))
FORMS = {
    "frame": FRAME,
    "objects": FRAME.to_numpy(object),
    "text": FRAME.to_numpy().astype(str),
    "lists": FRAME.to_numpy(object).tolist(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "model",
    [
        KernelCentroidClassifier("hamming()"),
        KernelLogisticRegression("hamming()"),
        KernelNeighborsClassifier("hamming()", 3),
        KernelPerceptron("delta() + 0.5*hamming()", random_state=0),
        KernelSVC("hamming()"),
        NadarayaWatsonClassifier("hamming()", bandwidth=1.0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_words_in_any_form(model, form, tmp_path):
    found = model.fit(FORMS[form], Y).predict(FORMS[form])
    assert (found == model.fit(FRAME, Y).predict(FRAME)).all()
    model.fit(FORMS[form], Y).save(tmp_path / "m")
    assert (mercer.load(tmp_path / "m").predict(FORMS[form]) == found).all()


def test_sharing_columns_is_the_inner_product_of_one_hot_codes():
    t = np.arange(10.0)
    codes = OneHotEncoder(sparse_output=False).fit_transform(FRAME) / np.sqrt(2)
    words, numbers = KernelRidge("hamming()").fit(FRAME, t), KernelRidge("linear()").fit(codes, t)
    np.testing.assert_allclose(words.predict(FRAME), numbers.predict(codes))


def test_words_where_numbers_are_needed_are_named():
    with pytest.raises(TypeError, match="needs numbers"):
        KernelRidge("hamming() + gaussian()").fit(FRAME.to_numpy(object), np.arange(10.0))
    with pytest.raises(ValueError, match="a category is missing"):
        KernelRidge("hamming()").fit([["x", None], ["y", "u"]], [0.0, 1.0])
    model = KernelRidge("hamming()").fit(FRAME.to_numpy(object), np.arange(10.0))
    with pytest.raises(ValueError, match="column"):
        model.predict(np.array([["x"]], dtype=object))
