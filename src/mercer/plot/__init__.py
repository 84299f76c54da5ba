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

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
