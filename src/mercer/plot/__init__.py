"""Pictures with matplotlib. Each function takes an `ax` (or makes one), draws and gives it back.

=========================  =======================================================================
classifiers and data       `points`, `decision_regions`, `thresholds`, `weight_vectors`
regressors                 `regression_curve`, `regression_curves`, `query_weights`
one answer                 `contributions`, `deciding_words`, `network`, `waterfall`
what columns add           `beeswarm`, `dependence`
feature maps               `feature_space`, `before_and_after`
linear separators          `separators`, `version_space`, `margin`, `hardness`,
                           `hebb_and_perceptron`
perceptrons                `mistakes_against_bound`, `convergence_proof`, `accuracy_over_visits`
kernels and Gram matrices  `kernel_shape`, `kernel_surface`, `kernel_gallery`, `gram`, `spectrum`,
                           `fourier`, `eigenfunctions`, `taylor_truncations`, `monomial_growth`
images                     `images`, `neighbor_images`, `rotation_curve`, `tangent_vectors`,
                           `deformed_templates`, `deformation`, `support_images`
drawn characters           `glyph`, `strokes`
errors over a parameter    `error_curves`, `learning_curve`
errors                     `confusion`, `roc`, `calibration`, `predicted_against_truth`,
                           `residuals`
tests                      `witness`, `change_points`
=========================  =======================================================================

Pictures of two or more panels take a sequence of axes. What is drawn is computed by small functions
of their own (`proof_curves`, `errors_over`, `LinearInFeatures`), which a film calls once. `film`
shows learners at work.
"""

from typing import TYPE_CHECKING

from mercer._lazy import suggesting
from mercer.plot.answers import (
    beeswarm,
    contributions,
    deciding_words,
    dependence,
    network,
    waterfall,
)
from mercer.plot.curves import error_curves, errors_over, learning_curve
from mercer.plot.drawings import glyph, strokes
from mercer.plot.errors import calibration, confusion, predicted_against_truth, residuals, roc
from mercer.plot.films import Film, film
from mercer.plot.images import images, neighbor_images, support_images
from mercer.plot.invariance import (
    deformation,
    deformed_templates,
    rotation_curve,
    tangent_vectors,
)
from mercer.plot.kernels import kernel_gallery, kernel_shape, kernel_surface
from mercer.plot.lifting import LinearInFeatures, before_and_after, feature_space
from mercer.plot.matrices import gram, spectrum
from mercer.plot.models import decision_regions, points, thresholds, weight_vectors
from mercer.plot.perceptrons import (
    ProofCurves,
    accuracy_over_visits,
    convergence_proof,
    mistakes_against_bound,
    proof_curves,
)
from mercer.plot.regression import query_weights, regression_curve, regression_curves
from mercer.plot.separators import hardness, hebb_and_perceptron, margin, separators, version_space
from mercer.plot.series import eigenfunctions, fourier, monomial_growth, taylor_truncations
from mercer.plot.tests import change_points, witness

__all__ = [
    "Film",
    "LinearInFeatures",
    "ProofCurves",
    "accuracy_over_visits",
    "beeswarm",
    "before_and_after",
    "calibration",
    "change_points",
    "confusion",
    "contributions",
    "convergence_proof",
    "deciding_words",
    "decision_regions",
    "deformation",
    "deformed_templates",
    "dependence",
    "eigenfunctions",
    "error_curves",
    "errors_over",
    "feature_space",
    "film",
    "fourier",
    "glyph",
    "gram",
    "hardness",
    "hebb_and_perceptron",
    "images",
    "kernel_gallery",
    "kernel_shape",
    "kernel_surface",
    "learning_curve",
    "margin",
    "mistakes_against_bound",
    "monomial_growth",
    "neighbor_images",
    "network",
    "points",
    "predicted_against_truth",
    "proof_curves",
    "query_weights",
    "regression_curve",
    "regression_curves",
    "residuals",
    "roc",
    "rotation_curve",
    "separators",
    "spectrum",
    "strokes",
    "support_images",
    "tangent_vectors",
    "taylor_truncations",
    "thresholds",
    "version_space",
    "waterfall",
    "weight_vectors",
    "witness",
]

if not TYPE_CHECKING:  # a type checker then knows that other names do not exist
    __getattr__ = suggesting(__name__, __all__)
