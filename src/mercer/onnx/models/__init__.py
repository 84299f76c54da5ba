"""What each learner makes of k.

expansions  f(x) = Σᵢ αᵢ k(xᵢ, x) + b: ridge, SVMs, logistic regression, perceptrons, centroids
local       smoothers and neighbors, whose pairs are always in float64
outputs     label, probabilities, decision, prediction
"""
