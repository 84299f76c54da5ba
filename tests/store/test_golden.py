"""Files that earlier versions wrote: they are read, and say what they said then.

An archive under `golden` is never written again (see `golden/make.py`). Where one of these tests
fails, the code that reads is wrong, not the file.
"""

import io
import json
import re
import runpy
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer.store import names

FOLDER = Path(__file__).parent / "golden"
make = SimpleNamespace(**runpy.run_path(str(FOLDER / "make.py")))
ARCHIVES = sorted(FOLDER.glob("*.zip"))


def contents(archive):
    with zipfile.ZipFile(archive) as opened:
        return json.loads(opened.read("cases.json"))


TOLD = {path.stem: contents(path) for path in ARCHIVES}
CASES = [(version, name) for version, told in TOLD.items() for name in told["cases"]]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=CASES, ids="-".join)
def golden(request, tmp_path):
    """A model as its file has it, the rows it is asked about, and what it answered."""
    version, name = request.param
    make.register()
    with zipfile.ZipFile(FOLDER / f"{version}.zip") as archive:
        path = Path(archive.extract(f"{name}.mercer", tmp_path))
    case = TOLD[version]["cases"][name]
    return mercer.load(path), make.made(case["input"], TOLD[version]["inputs"][case["input"]]), case


def agree(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        ours, theirs = np.asarray(found[name]), np.asarray(value)
        if theirs.dtype.kind in "fc":
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11, err_msg=name)
        else:
            assert (ours == theirs).all(), name


def answers(model, rows):
    if isinstance(model, dict):
        return {name: make.plain(kernel(rows)) for name, kernel in model.items()}
    return make.answers(model, rows)


def test_it_answers_as_it_did(golden):
    model, rows, case = golden
    agree(answers(model, rows), case.get("answers", case.get("each")))


def test_it_can_be_saved_again(golden, tmp_path):
    model, rows, case = golden
    mercer.save(model, tmp_path / "again")
    agree(answers(mercer.load(tmp_path / "again"), rows), case.get("answers", case.get("each")))


def test_it_learns_on_as_it_did(golden):
    model, rows, case = golden
    if "more" in case:
        agree(answers(model.partial_fit(*case["more"]), rows), case["later"])
    else:
        assert not hasattr(model, "partial_fit") or case["input"] != "rows"


def test_every_learner_map_and_declared_class_is_in_some_golden_file():
    """Whoever adds one adds an archive: see `golden/make.py`."""
    found = set()
    for archive in ARCHIVES:
        with zipfile.ZipFile(archive) as opened:
            for name in set(opened.namelist()) - {"cases.json"}:
                with zipfile.ZipFile(io.BytesIO(opened.read(name))) as model:
                    text = model.read("header.json").decode()
                found |= {names.modern(path) for path in re.findall(r'"object": "([^"]+)"', text)}
    declared = {name for name in names.DECLARED if not name.startswith(("formula.", "sklearn."))}
    learned = {f"learners.{name}" for name in mercer.learners.__all__}
    mapped = {f"maps.{name}" for name in mercer.maps.__all__}
    assert declared | learned | mapped <= found
