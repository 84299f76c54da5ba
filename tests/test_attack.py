"""A short attack in every run of the tests; `make attack` goes on for longer."""

import pytest

pytest.importorskip("click")
pytest.importorskip("pandas")
from tests import attack

#: The fuzzers of files and models have tests of their own.
KERNELS = [entry for entry in attack.FUZZERS if entry[1][0].startswith(("fuzz_k", "fuzz_a"))]


@pytest.mark.linux
@pytest.mark.parametrize(("name", "script"), KERNELS)
def test_a_short_attack_finds_nothing(name, script):
    report = attack.attack(script, 60, 5)
    assert not report["problems"]
    assert sum(report["outcomes"].values()) == 60
    assert report["outcomes"]["accepted"] >= 5


@pytest.mark.linux
def test_what_is_wrong_is_found(monkeypatch, capsys):
    monkeypatch.setattr(attack, "FUZZERS", [("none", ["fuzz_kernels.py", "commands", "x"])])
    assert attack.main(1) == 1
    assert "ended with status" in capsys.readouterr().out
