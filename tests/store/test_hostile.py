"""Each lie that a well-formed file can tell, and the sentence it is refused with."""

import copy
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

import mercer
from mercer.store import StoreError, names, types
from mercer.store.writing import Writer


def npy(array=None, *, descr="<f8", shape=(), fortran=False, data=b"", version=(1, 0)):
    if array is not None:
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array)
        return stream.getvalue()
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(2, "little") + text + data


@pytest.fixture
def load(tmp_path):
    """The object of a file that is well-formed but for what it says."""

    def forged(entry, members=(), **header):
        sums = [{"sha256": hashlib.sha256(a).hexdigest(), "bytes": len(a)} for a in members]
        known = {"format": "mercer", "version": types.VERSION, "arrays": sums, "object": entry}
        with zipfile.ZipFile(tmp_path / "f", "w") as archive:
            archive.writestr("header.json", json.dumps({**known, **header}))
            for i, array in enumerate(members):
                archive.writestr(f"a{i}.npy", array)
        return mercer.load(tmp_path / "f")

    return forged


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (npy(shape=(10**12,)), "promises shape"),
        (npy(shape=(2**62, 2**62)), "promises shape"),
        (npy(shape=(-1,), data=b""), "negative|damaged"),
        (npy(shape=(2,), data=bytes(8)), "promises shape"),
        (npy(descr="|O", shape=(1,), data=bytes(8)), "which a model file cannot"),
        (npy(descr="|V8", shape=(1,), data=bytes(8)), "which a model file cannot"),
        (npy(descr="<U0", shape=(10**15,)), "which a model file cannot"),
        (npy(descr=[("a", "<f8")], shape=(1,), data=bytes(8)), "which a model file cannot"),
        (npy(shape=(1,), data=bytes(8), version=(3, 0)), "another format"),
        (npy(shape=(1,) * 80, data=bytes(8)), "damaged"),
        (b"\x93NUMPY\x01\x00", "damaged"),
        (b"not an array", "damaged"),
        (npy(np.zeros(3))[:-1], "promises shape"),
    ],
)
def test_arrays_that_lie(array, words, load):
    with pytest.raises(StoreError, match=words):
        load({"array": 0}, [array])


#: The formula 1.
ONE = {"formula": "const", "parts": [[], 1.0]}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"csr": [0, 0, 0], "shape": [3, 3]}, "no whole numbers"),
        ({"csr": [0, 1, 1], "shape": [10**9, 10**9]}, "damaged"),
        ({"csr": [0, 1, 2], "shape": [2, 1]}, "damaged"),
        ({"bytes": 7}, "damaged"),
        ({"scalar": True}, "not the number"),
        ({"objects": [1, 2], "shape": [10**9]}, "damaged"),
        ({"dict": [[2**62, 1]]}, "not plausible"),
        ({"set": [2**70]}, "not plausible"),
        ({"dict": [[[1], 2]]}, "unhashable"),
        ({"dtype": "V8"}, "type of numbers"),
        ({"dtype": "nonsense"}, "damaged"),
        ({"random": ["MT19937", {"array": 2}, 625, 0, 0.0]}, "random number generator"),
        ({"random": ["MT19937", {"array": 1}, 3, 0, 0.0]}, "random number generator"),
        ({"random": ["PCG64", {"array": 2}, 3, 0, 0.0]}, "random number generator"),
        ({"formula": "exp", "parts": [[3], None]}, "parts that are no formulas"),
        ({"formula": "exp", "parts": [[], None]}, "takes 1 arguments, not 0"),
        ({"formula": "exp", "parts": [[ONE], 3]}, "does not belong"),
        ({"formula": "import os", "parts": [[ONE], None]}, "no operation 'import os'"),
        ({"formula": "tile", "parts": [[], 0]}, "no operation 'tile'"),
        ({"formula": "pow", "parts": [[ONE], "2); evil("]}, "does not belong"),
        ({"formula": "pow", "parts": [[ONE], 10**7]}, "does not belong"),
        ({"formula": "const", "parts": [[], {"float": "nan"}]}, "does not belong"),
        ({"formula": "param", "parts": [[], {"tuple": ["a; b", 1.0]}]}, "does not belong"),
        ({"formula": "coord", "parts": [[], "y"]}, "does not belong"),
        ({"formula": "dot", "parts": [[], "rows"]}, "does not belong"),
        ({"formula": "reduce", "parts": [[ONE], {"tuple": ["eval", None]}]}, "does not belong"),
        ({"formula": "opaque", "parts": [[], {"tuple": ["leaf", None]}]}, "does not belong"),
        ({"formula": "add", "parts": [[], None]}, "needs arguments"),
        ({"object": "learners.KernelSVC", "state": {"__class__": 1}}, "no object"),
        ({"object": "kernels.Gaussian", "state": {"sigma": -1.0}}, "positive"),
        ({"object": "kernels.Gaussian", "state": {"tau": 1.0}}, "tau"),
        ({"object": "kernels.Absent", "state": {}}, "does not hold"),
        ({"object": "kernels.Claim", "state": {}}, "does not hold"),
        ({"object": "kernels.parse", "state": {}}, "does not hold"),
        ({"object": "learners.svm", "state": {}}, "does not hold"),
        ({"object": "sklearn.svm.SVC", "state": {}}, "does not hold"),
        ({"object": "mercer.kernels.radial:Gaussian", "state": {}}, "does not hold"),
        ({"object": "mercer.kernels.images.tangent:_Squared", "state": {}}, "does not hold"),
        ({"object": 3, "state": {}}, "does not hold"),
        ({"class": "builtins:eval"}, "does not hold"),
        ({"numpy function": "load"}, "no function of NumPy"),
        ({"numpy function": "lib.npyio"}, "no function of NumPy"),
        ({}, "unknown entry"),
        (
            {
                "object": "kernels.Warp",
                "state": {
                    "kernel": {"object": "kernels.Linear", "state": {}},
                    "phi": "os.system",
                },
            },
            "no function is registered",
        ),
    ],
)
def test_descriptions_that_lie(entry, words, load):
    arrays = [npy(np.zeros(4)), npy(np.array([0, 5])), npy(np.zeros(624, dtype=np.uint32))]
    with pytest.raises(StoreError, match=words):
        load(entry, arrays)


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "mercer.store:save",
        "mercer.store.names:find",
        "mercer.kernels.core:importlib",
        "mercer.learners.svms.classifier:Task",
        "mercer.solvers.quadratic.smo:Options",
        "mercer.kernels.images.tangent:_Squared",
        "sklearn.svm._classes:SVC",
        "sklearn.utils:Bunch",
    ],
)
def test_paths_of_the_first_version_that_lie(name, load):
    with pytest.raises(StoreError, match="does not hold"):
        load({"object": name, "state": {}}, version=1)
    assert load({"object": "mercer.kernels.radial:Gaussian", "state": {}}, version=1)


def test_headers_that_lie(load, tmp_path):
    for arrays, words in [
        ([{"bytes": -5, "sha256": ""}], "plausible size"),
        ([{"bytes": "5", "sha256": ""}], "plausible size"),
        ([{"bytes": 10**6, "sha256": ""}], "more than it holds"),
        ({"bytes": 1}, "not plausible"),
        ([{"bytes": 1, "sha256": ""}] * (types.MAX_ARRAYS + 1), "not plausible"),
    ]:
        with pytest.raises(StoreError, match=words):
            load(None, arrays=arrays)
    with pytest.raises(StoreError, match="checksum"):
        load(None, [npy(np.zeros(2))], arrays=[{"bytes": len(npy(np.zeros(2))), "sha256": "00"}])
    (tmp_path / "list").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "list", "w") as archive:
        archive.writestr("header.json", "[1, 2]")
    with pytest.raises(StoreError, match="header"):
        mercer.load(tmp_path / "list")
    with zipfile.ZipFile(tmp_path / "deep", "w") as archive:
        archive.writestr("header.json", "[" * 100_000)
    with pytest.raises(StoreError, match="damaged"):
        mercer.load(tmp_path / "deep")


def test_copies_are_counted_before_they_are_made(load):
    """One array of 1 MB, named many times: 64 copies would be more than the limit."""
    megabyte = npy(np.zeros(2**20, dtype=np.uint8))
    with mercer.config(memory="64MB"):
        assert len(load([{"bytes": 0}] * 8, [megabyte])) == 8
        for entry in (
            [{"bytes": 0}] * 64,
            [{"series": {"array": 0}}] * 64,
            [{"frame": [{"array": 0}], "names": ["a"]}] * 64,
        ):
            with pytest.raises(MemoryError, match="memory limit"):
                load(entry, [megabyte])


def test_long_text_is_refused_where_memory_is_short(load):
    with mercer.config(memory="64MB"), pytest.raises(StoreError, match="claims"):
        load("x" * 2_000_000)


def test_a_member_that_claims_more_than_the_file_holds(load, tmp_path):
    assert load("x") == "x"
    content = bytearray((tmp_path / "f").read_bytes())
    at = content.index(b"PK\x01\x02") + 20  # the directory's two sizes of the header
    content[at : at + 8] = 2 * (1_000_000).to_bytes(4, "little")
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(StoreError, match=r"header\.json claims"):
        mercer.load(tmp_path / "f")


def test_series_and_sparse_matrices_that_are_sound(load):
    arrays = [npy(np.array([1.0, 2.0])), npy(np.array([0, 2])), npy(np.array([0, 1, 2]))]
    matrix = load({"csr": [0, 1, 2], "shape": [2, 3]}, arrays)
    assert matrix.toarray().tolist() == [[1, 0, 0], [0, 0, 2]]
    assert load({"series": {"array": 0}}, arrays).tolist() == [1.0, 2.0]
    assert load({"class": "builtins:float"}) is float


def test_generators_and_formulas_come_back(tmp_path):
    from mercer.formula.nodes import ROOT, dot

    generator = np.random.RandomState(3)
    generator.normal(size=5)
    value = {"r": generator, "f": (dot(ROOT) * 2.0).exp()}
    mercer.save(value, tmp_path / "m")
    found = mercer.load(tmp_path / "m")
    assert (found["r"].normal(size=4) == generator.normal(size=4)).all()
    assert found["f"] is value["f"]


def test_what_is_too_deep_or_too_long_is_not_saved(tmp_path, monkeypatch):
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(StoreError, match="nested too deeply"):
        mercer.save(deep, tmp_path / "m")
    monkeypatch.setattr("mercer.store.writing.MAX_HEADER", 100)
    with pytest.raises(StoreError, match="of text"):
        mercer.save("x" * 200, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_an_array_in_two_places_is_written_once():
    array = np.arange(3.0)
    writer = Writer()
    assert writer.encode([array, array], "list", 0) == [{"array": 0}, {"array": 0}]


def test_one_array_named_many_times_is_counted_each_time(load):
    """Kernels copy their arrays: a small file must not become a large memory."""
    big = npy(np.eye(300))
    one = {"object": "kernels.Bilinear", "state": {"A": {"array": 0}}}
    with mercer.config(memory="40MB"), pytest.raises(MemoryError, match="more than the memory"):
        load([one] * 200, [big])
    with mercer.config(memory="40MB"):
        assert len(load([one] * 3, [big])) == 3


@pytest.mark.parametrize(
    "one",
    [
        {"bytes": 0},
        {"series": {"array": 0}},
        {"frame": [{"array": 0}], "names": ["a"]},
        {"object": "kernels.Polynomial", "state": {"degree": {"array": 0}}},
    ],
)
def test_a_small_file_never_becomes_a_large_memory(one, load, monkeypatch):
    """Whatever the limit: the cost is counted before the first array is read."""
    monkeypatch.setattr(
        "mercer.store.reading._Reader._npy", lambda *a: pytest.fail("an array was read")
    )
    entry = [one] * 20_000
    with mercer.config(memory="100GB"), pytest.raises(StoreError, match="of memory"):
        load(entry, [npy(np.zeros(2**20, dtype=np.uint8))])


def test_a_class_that_is_named_many_times_is_looked_for_once(load, monkeypatch):
    asked, find = [], names.find
    monkeypatch.setattr(names, "find", lambda name: asked.append(name) or find(name))
    assert len(load([{"object": "kernels.Linear", "state": {}}] * 50)) == 50
    assert asked == ["kernels.Linear"]


@pytest.fixture(scope="module")
def forest():
    from mercer.learners.rivals.trees import TreesClassifier

    X = np.random.default_rng(0).normal(size=(60, 3))
    return TreesClassifier("forest", 4).fit(X, X[:, 0] * X[:, 1] > 0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda a: a + 10_000),
        ("left", lambda a: -a),
        ("right", lambda a: a * 0),
        ("left", lambda a: a.astype(float)),
        ("roots", lambda a: a + 10_000),
        ("feature", lambda a: a + 3),
        ("feature", lambda a: a - 1),
        ("feature", lambda a: a[:-1]),
        ("threshold", lambda a: a * np.nan),
        ("value", lambda a: a * np.nan),
        ("value", lambda a: a[:, 0]),
        ("missing", lambda a: a[:3]),
        ("depth", lambda depth: depth - 1),
        ("depth", lambda depth: 10**9),
        ("outputs", lambda n: 0),
        ("outputs", lambda n: 3),
        ("divisor", lambda n: 0),
    ],
)
def test_trees_that_are_none_are_refused(name, change, forest, tmp_path):
    copied = copy.copy(forest)
    copied.trees_ = copy.copy(forest.trees_)
    vars(copied.trees_)[name] = change(getattr(forest.trees_, name))
    mercer.save(copied, tmp_path / "m")
    with pytest.raises(StoreError, match="damaged"):
        mercer.load(tmp_path / "m")
    mercer.save(forest, tmp_path / "m")
    rows = np.random.default_rng(1).normal(size=(9, 3))
    assert (mercer.load(tmp_path / "m").predict(rows) == forest.predict(rows)).all()
