"""(K + λI)a = t: ridge regression by factors, features, centers and conjugate gradients."""
