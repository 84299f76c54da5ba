"""A first look: train on handwritten digits, prove the kernel, refute one that is not a kernel."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import mercer
from mercer.kernels import Polynomial, Uniform


def main() -> None:
    console = Console()
    started = time.perf_counter()
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X / 16, y, test_size=0.3, random_state=0)
    X_train, X_test, y_train, y_test = split
    kernel = Polynomial(3, offset=1.0)

    console.print(
        f"[bold]Data[/]   scikit-learn's digits: {len(X_train)} images to learn from, "
        f"{len(X_test)} to be tested on, {X.shape[1]} pixels, ten classes"
    )
    console.print(
        f"[bold]Kernel[/] {kernel!r}, an inner product of "
        f"{kernel.n_dims(X.shape[1]):,} features that are never computed"
    )

    table = Table("predictor", "mistakes made", "points kept", "test accuracy", "seconds")
    for averaging in ("last", "average", "vote"):
        start = time.perf_counter()
        model = mercer.KernelPerceptron(kernel, epochs=20, averaging=averaging, random_state=0)
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        table.add_row(
            averaging,
            str(model.n_mistakes_),
            f"{len(model.support_)} of {len(X_train)}",
            f"{model.score(X_test, y_test):.1%}",
            f"{seconds:.2f}",
        )
    console.print(table)
    console.print("The first row includes the time to compile.\n")

    console.print(f"[bold]Is {kernel!r} a kernel?[/]")
    console.print(str(mercer.prove(kernel)), highlight=False, markup=False, soft_wrap=True)

    suspect = Uniform(width=1.0)  # 1 where two points are at most 1 apart, else 0
    console.print(f"\n[bold]Is {suspect!r} a kernel?[/]")
    console.print(
        str(mercer.prove(suspect, n_features=1)), highlight=False, markup=False, soft_wrap=True
    )
    console.print(f"\nDone in {time.perf_counter() - started:.1f} s.")


if __name__ == "__main__":
    main()
