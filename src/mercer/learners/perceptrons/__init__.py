"""The perceptron, primal and dual."""
