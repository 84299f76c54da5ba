"""Tests of peers that fail on our classes, each with the reason why that is as it should be.

A key is the name of a test, with `*` for any characters; without parameters it stands for all of
them. Every test that a key names must fail: one that passes is to be taken off the list.
"""

_PRIVATE = "reads or writes an attribute that is private to scikit-learn"
_WORDS = "the error is raised, in other words"
_SPARSE_GRAPH = (
    "entries that a sparse matrix of distances leaves out mean 'far' to scikit-learn; a kernel "
    "matrix has no such meaning, and zeros are zeros"
)
_NEGATIVE = (
    "scikit-learn drops examples of negative weight; here they are refused, since a minus sign is "
    "more often a mistake (0 leaves an example out)"
)
_MIXED_ROWS = "a machine that was fitted on dense rows takes sparse ones, too, and the reverse"
_PROBABILITY = (
    "scikit-learn is giving `probability` up; here it stays, and is scikit-learn's own "
    "CalibratedClassifierCV underneath, which is what it advises instead"
)
_NEAREST_ANSWERS = (
    "where nobody is within the radius the nearest training example answers, with a warning, "
    "unless outlier_label is given; scikit-learn raises, or predicts NaN"
)

_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_TOLERANCE = (
    "scikit-learn excuses its own machines, too: weights and copies are one problem, whose "
    "solutions agree to the tolerance of the solver"
)
_UPDATES = (
    "scikit-learn excuses its own perceptron, too: one update that goes twice as far is not two "
    "visits"
)
_STARTS = (
    "scikit-learn excuses its own KMeans, too: copies of rows change what a start is drawn among"
)
_GROUPS = "four different rows make no eight groups: an error here, a warning of scikit-learn's"
_THROUGH_ZERO = "without an intercept, a line through 0 cannot favor a class almost everywhere"

#: Of scikit-learn's contract, by learner and check: also what `tests/learners` excuses.
CONTRACT = {
    "KernelSVC": dict.fromkeys(_WEIGHTS, _TOLERANCE),
    "KernelSVR": dict.fromkeys(_WEIGHTS, _TOLERANCE),
    "KernelOneClass": dict.fromkeys(_WEIGHTS, _TOLERANCE),
    "KernelQuantileRegressor": dict.fromkeys(_WEIGHTS, _TOLERANCE),
    "KernelPerceptron": dict.fromkeys(_WEIGHTS, _UPDATES),
    "Perceptron": dict.fromkeys(_WEIGHTS, _UPDATES)
    | {"check_class_weight_classifiers": _THROUGH_ZERO},
    "KernelKMeans": dict.fromkeys(_WEIGHTS, _STARTS)
    | dict.fromkeys(
        ("check_sample_weights_shape", "check_sample_weights_not_overwritten"), _GROUPS
    ),
}

EXCEPTIONS = {
    "kernel_pca": {
        "test_kernel_pca_invalid_parameters": _WORDS,
        "test_kernel_pca_consistent_transform": "examples are kept as they are, not copied: as "
        "with copy_X=False",
        "test_remove_zero_eig": "examples that do not vary are an error, not an empty answer",
        "test_precomputed_kernel_not_psd": "a kernel that is none is used as it is, with a "
        "warning; components of negative eigenvalues are zero",
    },
    "kernel_density": {
        "test_kernel_density_sampling": "every window is drawn from, not only two of them",
        "test_kde_sample_weights": "the draws with constant weights are others than without any, "
        "from the same distribution",
    },
    "svm": {
        "test_svr_errors": "a function that gives a matrix of the wrong shape is refused by fit, "
        "not only by predict",
        "test_tweak_params": _PRIVATE,
        "test_negative_sample_weights_mask_all_samples[weights-are-negative-*": _NEGATIVE,
        "test_negative_weights_svc_leave_just_one_label": _NEGATIVE,
        "test_negative_weights_svc_leave_two_labels[partial-mask-label-1-*": _NEGATIVE,
        "test_negative_weight_equal_coeffs[partial-mask-label-1-*": _NEGATIVE,
        "test_bad_input": _MIXED_ROWS,
        "test_svc_nonfinite_params": _WORDS + ", and before the solver starts",
        "test_sparse_precomputed": "a sparse kernel matrix is taken",
        "test_libsvm_convergence_warnings": "the warning names the gap, in other words",
        "test_hasattr_predict_proba": _WORDS,
        "test_svc_ovr_tie_breaking": "two classes of seven have a score of exactly 0 between them: "
        "predict and decision_function of scikit-learn count that vote for different classes, and "
        "here for the same one, so that there is no tie to break",
        "test_custom_kernel_not_array_input": "the function of this test can only fill square "
        "matrices; here it is asked for parts of K",
        "test_svc_raises_error_internal_representation": _PRIVATE,
        "test_probability_raises_futurewarning": _PROBABILITY,
        "test_svc_nusvc_probA_probB_deprecated": _PROBABILITY,
    },
    "neighbors": {
        "test_unsupervised_inputs": "examples are given as rows; trees and other models have no "
        "kernel",
        "test_precomputed_dense": "a precomputed matrix is not kept, so that its rows have to be "
        "given again where scikit-learn takes None",
        "test_precomputed_sparse_invalid": "a precomputed matrix is not kept, see above",
        "test_precomputed_sparse_knn": _SPARSE_GRAPH,
        "test_precomputed_sparse_radius": _SPARSE_GRAPH,
        "test_radius_neighbors_returns_array_of_objects[csr_matrix]": _SPARSE_GRAPH,
        "test_radius_neighbors_sort_results[brute-precomputed]": _SPARSE_GRAPH,
        "test_kneighbors_regressor_sparse": _SPARSE_GRAPH,
        "test_pipeline_with_nearest_neighbors_transformer": _SPARSE_GRAPH,
        "test_radius_neighbors_classifier_when_no_neighbors[*-None-*": _NEAREST_ANSWERS,
        "test_radius_neighbors_regressor": _NEAREST_ANSWERS,
        "test_nearest_neighbors_validate_params": _WORDS,
        "test_KNeighborsClassifier_raise_on_all_zero_weights": _WORDS,
        "test_predict_sparse_ball_kd_tree": _MIXED_ROWS,
        "test_k_and_radius_neighbors_duplicates": "of three equal examples without itself, the "
        "third one's neighbor is the first here; scikit-learn drops the first in its place",
        "test_auto_algorithm": _PRIVATE,
        "test_KNeighborsClassifier_multioutput": "probabilities of several outputs together and of "
        "each alone differ by one unit in the last place, and the test asks for equal bits",
    },
    "pairwise": {
        "test_euclidean_distances_with_norms": "norms that are given are not used: distances are "
        "measured from differences, where wrong norms cannot do harm",
        "test_euclidean_distances_norm_shapes": "norms that are given are not used, see above",
        "test_pairwise_similarity_sparse_output": "blocks of K are dense, whatever the rows are",
    },
    "kernel_approximation": {
        "test_rbf_sampler_fitted_attributes_dtype": "RandomFourierMap has a cosine and a sine per "
        "frequency, which is more accurate, and so no random offsets",
        "test_rbf_sampler_dtype_equivalence": "there are no random offsets, see above",
        "test_nystroem_approximation": "NystromMap has no column for a direction that the kernel "
        "matrix of the chosen examples leaves out",
        "test_nystroem_poly_kernel_params": "a degree that is no whole number is refused: the "
        "power is not positive semi-definite",
        "test_nystroem_callable": "a function has its own parameters (functools.partial); there is "
        "no kernel_params",
        "test_nystroem_precomputed_kernel": "gamma, degree and coef0 are ignored by kernels that "
        "have none, as scikit-learn's SVC ignores them, so that one grid fits several kernels",
    },
    "kernel_regression": {
        "test_significance_*": "tests of significance by resampling are not offered",
        "test_aic_hurvich_matches_hand_computed_trace": "bandwidths are chosen by leaving one out, "
        "not by this criterion",
        "test_continuous_cvls_efficient": "the data are a line and noise, so that a wide bandwidth "
        "has the least leave-one-out error of a local line, and ours finds it; the peer stops at a "
        "local minimum near that of the local constant",
    },
    "contract": {
        # With the inverse learned ours passes; scikit-learn's own test of its KernelPCA asks for
        # this NotFittedError.
        "test_contract[KernelPCA()-check_array_api_input*": "the inverse is not learned unless "
        "fit_inverse_transform says so",
    }
    | {
        # A map with a constant column has its intercept.
        f"test_contract[{learner}{'()' if reason is _THROUGH_ZERO else '(*'}-{check}*": reason
        for learner, checks in CONTRACT.items()
        for check, reason in checks.items()
    },
}
