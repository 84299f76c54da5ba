"""What can be asked of any kernel and is answered by a package above: Gram, proofs, feature maps.

`Kernel` derives from `Facade` (see `core`). These methods are the only upward calls of this
package, and import what they need when they are called.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._arrays import is_tensor
from mercer._deprecated import warn_of
from mercer.kernels.parameters import is_number

if TYPE_CHECKING:
    from mercer.gram import Gram
    from mercer.kernels.core import Kernel


class Facade:
    """The methods of `Kernel` that packages above answer."""

    def __call__(self: Any, X: Any, Z: Any = None) -> Any:
        """The dense block of k(x, z) for all rows x of X and z of Z (X itself by default).

        Two numbers are two examples of one column:

        >>> from mercer import Gaussian
        >>> round(Gaussian()(1.0, 2.0), 4)
        0.6065
        """
        if type(X) is not np.ndarray or (Z is not None and type(Z) is not np.ndarray):
            if is_number(X) and (Z is None or is_number(Z)) and not self.is_opaque:
                return float(self([[float(X)]], [[float(X if Z is None else Z)]])[0, 0])
            if is_tensor(X) or is_tensor(Z):
                from mercer.gram.functions import tensor_block

                return tensor_block(self, X, Z)
        from mercer.gram import make_gram

        return make_gram(self, X, Z).dense()

    def gram(self: Any, X: Any, Z: Any = None) -> Gram:
        """The lazy Gram operator: nothing is computed until asked for."""
        from mercer.gram import make_gram

        return make_gram(self, X, Z)

    def diag(self: Any, X: Any) -> np.ndarray:
        """k(x, x) for every row, without the matrix."""
        from mercer.gram import diagonal

        return diagonal(self, X)

    def distance(self: Any, X: Any, Z: Any = None) -> np.ndarray:
        """‖φ(x) − φ(z)‖ = √(k(x,x) − 2k(x,z) + k(z,z)).

        >>> from mercer import Linear
        >>> Linear().distance([[0.0, 0.0]], [[3.0, 4.0]])
        array([[5.]])
        """
        from mercer.gram import functions

        return functions.distance(self, X, Z)

    def gradient(self: Any, X: Any, Z: Any = None) -> dict[str, np.ndarray]:
        """∂k(x, z)/∂p for each scalar parameter p, named as in `get_params`."""
        from mercer.gram import functions

        return functions.gradient(self, X, Z)

    def explain(self: Any, X: Any, Z: Any = None) -> Any:
        """Tree, formula, plan, flops, bytes, and the source an engine generated."""
        from mercer.gram import explain as gram_explain

        return gram_explain.explain(self, X, Z)

    def prove(self: Any, data: Any = None, n_features: int | None = None) -> Any:
        """Proof, Counterexample or Undecided: see `mercer.prove`, which has the same arguments."""
        from mercer import proof

        if is_number(data):
            old, new = f"k.prove({data})", f"k.prove(n_features={data})"
            warn_of(old, new, "the first argument is data, as in mercer.prove")
            data, n_features = None, data
        return proof.prove(self, data=data, n_features=n_features)

    def feature_map(self: Any, n_features: int) -> Any:
        """An explicit φ as a scikit-learn transformer, where a finite one exists."""
        if self.n_dims(n_features) == math.inf:
            raise no_finite_map(self)
        from mercer.maps import ExplicitMap

        return ExplicitMap(self).fit(np.zeros((1, n_features)))


def no_finite_map(kernel: Kernel) -> ValueError:
    return ValueError(
        f"{kernel!r} has no finite feature map. Approximate ones: mercer.maps.NystromMap (any "
        "kernel), RandomFourierMap (Gaussian, Laplacian, Matérn), TaylorGaussianMap, "
        "TensorSketchMap (polynomials)."
    )
