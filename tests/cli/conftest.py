"""A runner that behaves like a process, a small table, and a model fitted on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("pandas")
from click.testing import CliRunner, Result

from mercer.cli.app import app


def mercer(*arguments: object, stdin: object = None) -> Result:
    """One command; `.stdout`, `.stderr` and `.exit_code` as a shell would see them."""
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


@pytest.fixture(name="mercer")
def _mercer():
    return mercer


def table_text(n: int = 120, seed: int = 0) -> str:
    """Numbers, categories, dates, truths, gaps; the label depends on the first two."""
    rng = np.random.default_rng(seed)
    lines = ["id,age,town,since,member,label"]
    for i in range(n):
        age, town = int(rng.integers(20, 70)), str(rng.choice(["Rome", "Oslo", "Ulm, old"]))
        label = "yes" if (age > 45) != (town == "Oslo") else "no"
        day = f"20{rng.integers(10, 25)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
        shown = "" if i % 17 == 3 else str(age)
        lines.append(f'p{i:04d},{shown},"{town}",{day},{bool(i % 2)},{label}')
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text(table_text(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model(table: Path) -> Path:
    """Logistic regression on the table, made by the command line itself."""
    path = table.with_name("people.mercer")
    options = ["--target", "label", "--kernel", "gaussian(2)", "--learner", "logistic"]
    done = mercer("fit", table, *options, "--set", "alpha=0.1", "--model", path)
    assert done.exit_code == 0, done.stderr
    return path
