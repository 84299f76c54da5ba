"""Films: what a learner does, frame by frame, as GIF, MP4, HTML with a slider, or in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import learners
from mercer._figures import styled
from mercer.plot.films.learning import descent_film, pair_film, perceptron_film
from mercer.plot.films.lifting import lifting_film
from mercer.plot.films.reel import Film
from mercer.plot.films.sweep import sweep_film, window_film

#: The film of each learner, by the name of its class in `mercer.learners`.
_FILMS = {
    "KernelPerceptron": perceptron_film,
    "Perceptron": perceptron_film,
    "KernelLogisticRegression": descent_film,
    "KernelSVC": pair_film,
    "NadarayaWatsonRegressor": window_film,
    "LocalLinearRegressor": window_film,
}


def film(model: Any, X: Any, y: Any = None, frames: int = 60, *, space: bool = False) -> Film:
    """A learner at work on X, y: frames drawn one by one, with what the lectures say of them.

    =================================  =============================================================
    `KernelPerceptron`, `Perceptron`   visit by visit: the boundary, w where it is a vector of the
                                       plane, α, the two curves of the convergence proof as they
                                       pinch, and the mistakes under their bound
    `KernelLogisticRegression`         step by step: P(Y|x) over the plane, the objective, a
    `KernelSVC`                        SMO, step by step: which pair moves, the margins, the gap
    `NadarayaWatsonRegressor`,         the window slides over the line, and draws the curve
    `LocalLinearRegressor`
    `KernelSVC`, ``space=True``        the plane of inputs is lifted to φ(x), a plane of that space
                                       separates the classes, and is a curve below
    all others                         one fit after the other, from a wide kernel to a narrow one
    =================================  =============================================================

    Parameters
    ----------
    model : learner, fitted or not
        Of one input, or of the plane; steps are shown of two classes in the plane.
    X : array or list
        Examples to learn from.
    y : array of shape (n,) or None
        Their classes or targets; None for learners without them.
    frames : int, default 60
        At most so many. Steps that change something are shown before those that do not.
    space : bool, default False
        For a `KernelSVC` whose φ has three coordinates, such as ``polynomial(2)``.

    Returns
    -------
    Film
        Shown by a notebook; ``save`` writes it to a file.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> film = plot.film(KernelPerceptron("linear()", shuffle=False), *data.blobs(20), frames=5)
    >>> len(film)
    5
    >>> film.caption(0)
    'epoch 1, visit 1: mistake 1'

    ``film.save("perceptron.gif")`` writes a GIF, ``.mp4`` an MP4 (where ffmpeg is), ``.html`` one
    file with a slider, and ``.png`` a contact sheet. The ``.html`` of a perceptron, of a smoother
    and of "all others" computes in the page, where the page has that learner: the numbers of the
    kernel have sliders, points can be dragged, and the visits of a perceptron play.
    """
    columns, classes = np.shape(X)[1:], 0 if y is None else len(np.unique(y))
    make = lifting_film if space else sweep_film
    for name, known in () if space else _FILMS.items():
        fits = known is window_film or (classes == 2 and columns == (2,))
        if fits and isinstance(model, getattr(learners, name)):
            make = known
    with styled():
        return make(model, X, y, frames)
