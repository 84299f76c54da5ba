"""What a kernel says about the targets, in words: a trend, a period, smooth parts, noise."""

from __future__ import annotations

from mercer.kernels import (
    Constant,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    On,
    Periodic,
    Polynomial,
    Power,
    Product,
    Scaled,
    Sum,
    Warp,
)


def in_words(kernel: Kernel, noise: float | None = None) -> str:
    """The parts of a sum, one phrase each; `noise` is its standard deviation.

    >>> from mercer import Gaussian, Linear, Periodic
    >>> in_words(Periodic(0.5) * Gaussian(3.0) + 0.1 * Linear().on([2]), 0.2)
    'a period of 0.5 that changes over lengths of 3, a linear trend in column 2, noise of 0.2'
    """
    phrases = [_phrase(part) for part in summands(kernel)]
    if noise is not None:
        phrases.append(f"noise of {noise:.2g}")
    return ", ".join(phrases)


def summands(kernel: Kernel) -> list[Kernel]:
    """The terms of a sum, from the left."""
    if isinstance(kernel, Sum):
        return summands(kernel.left) + summands(kernel.right)
    return [kernel]


def _phrase(kernel: Kernel) -> str:
    if isinstance(kernel, Scaled):
        return _phrase(kernel.kernel)
    if isinstance(kernel, On):
        columns = [str(c) for c in kernel.columns]
        which = "column" if len(columns) == 1 else "columns"
        return f"{_phrase(kernel.kernel)} in {which} {' and '.join(columns)}"
    if isinstance(kernel, Warp):
        return f"{_phrase(kernel.kernel)} of the inputs through {kernel.phi}"
    if isinstance(kernel, Product):
        return _product(kernel)
    if isinstance(kernel, Power) and isinstance(kernel.kernel, Linear):
        return f"a trend of degree {kernel.degree}"
    if isinstance(kernel, Sum):
        return f"({in_words(kernel)})"
    return _leaf(kernel)


def _leaf(kernel: Kernel) -> str:
    if isinstance(kernel, Linear):
        return "a linear trend"
    if isinstance(kernel, Polynomial):
        return f"a trend of degree {kernel.degree}"
    if isinstance(kernel, Periodic):
        return f"a period of {kernel.number('period'):.3g}"
    if isinstance(kernel, Constant):
        return "a constant"
    if isinstance(kernel, (Gaussian, Matern)):
        kind = "rough" if isinstance(kernel, Matern) and kernel.nu < 2 else "smooth"
        return f"a {kind} part{_length(kernel)}"
    return repr(kernel)


def _length(kernel: Gaussian | Matern) -> str:
    value = kernel.sigma if isinstance(kernel, Gaussian) else kernel.length
    return f" of length {value:.3g}" if isinstance(value, float) else " of one length per column"


def _product(kernel: Product) -> str:
    """The factor that says most first; a Gaussian changes it slowly, a trend lets it grow."""
    factors = _factors(kernel)
    trends = sum(isinstance(one, Linear) for one in factors)
    if trends == len(factors):
        return f"a trend of degree {trends}"
    rank = {Periodic: 0, On: 1, Matern: 2, Gaussian: 3, Linear: 4}
    factors.sort(key=lambda one: rank.get(type(one), 1))
    text = _phrase(factors[0])
    for one in factors[1:]:
        if isinstance(one, Linear):
            text += " that grows with the inputs"
        elif isinstance(one, (Gaussian, Matern)):
            text += f" that changes over{_length(one).replace(' of length', ' lengths of')}"
        else:
            text += f" times {_phrase(one)}"
    return text


def _factors(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, Product):
        return _factors(kernel.left) + _factors(kernel.right)
    return _factors(kernel.kernel) if isinstance(kernel, Scaled) else [kernel]
