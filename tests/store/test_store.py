"""Models on disk: what is saved comes back, and no file can do harm."""

import json
import os
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import Gaussian, KernelExpansion, KernelPerceptron, Linear, Spectrum, store
from mercer.kernels import Bilinear
from mercer.store import StoreError

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = make_pipeline(StandardScaler(), KernelPerceptron("gaussian(1)", epochs=3)).fit(X, Y)
    path = tmp_path_factory.mktemp("store") / "model.mercer"
    mercer.save(model, path)
    return model, path


def test_a_pipeline_predicts_the_same_after_a_round_trip(saved):
    model, path = saved
    again = mercer.load(path)
    assert (again.predict(X) == model.predict(X)).all()
    assert again[-1].kernel_ == model[-1].kernel_
    assert again[-1].get_params() == model[-1].get_params()


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([1.0, 2.0, 3.0, 4.0]),
        Bilinear(np.diag([1.0, 2.0, 3.0, 4.0])) + 0.5 * Gaussian(2.0).on([0, 1]),
        (Linear() + 1.0).normalized().exp() * Gaussian(),
        Linear().warp("log1p").reweight("norm"),
    ],
)
def test_kernels_and_arrays_come_back_bit_for_bit(kernel, tmp_path):
    f = KernelExpansion(kernel, X[:5], np.arange(10.0).reshape(5, 2), np.array([1.0, -1.0]))
    mercer.save(f, tmp_path / "f")
    g = mercer.load(tmp_path / "f")
    assert g.kernel == kernel
    assert (g(X) == f(X)).all()


def test_points_that_are_strings_or_sparse(tmp_path):
    f = KernelExpansion(Spectrum(2), ["gattaca", "tag"], np.array([1.0, -2.0]))
    mercer.save(f, tmp_path / "f")
    assert mercer.load(tmp_path / "f")(["cat"]) == f(["cat"])
    f = KernelExpansion(Gaussian(), csr_matrix(X[:3]), np.ones(3))
    mercer.save(f, tmp_path / "f")
    assert np.allclose(mercer.load(tmp_path / "f")(X), f(X))


def test_every_kind_of_value_survives(tmp_path):
    value = {
        "a": (1, 2.5, None, True, "é"),
        "b": {float("inf"), -1.0},
        3: [np.float32(1.5), np.int64(7), np.array(["x", "yy"]), b"raw"],
        "o": np.array([1, "two", None], dtype=object),
        "s": slice(1, None, 2),
        "t": np.float64,
    }
    mercer.save(value, tmp_path / "v")
    again = mercer.load(tmp_path / "v")
    assert again["a"] == value["a"]
    assert again["b"] == value["b"]
    assert again[3][:2] == value[3][:2]
    assert type(again[3][0]) is np.float32
    assert (again[3][2] == value[3][2]).all()
    assert again[3][3] == b"raw"
    assert list(again["o"]) == [1, "two", None]
    assert again["s"] == value["s"]
    assert again["t"] is np.float64


def test_a_function_is_refused_and_a_registered_name_is_not(tmp_path):
    f = KernelExpansion(Linear().warp(lambda Z: Z * 2), X[:2], np.ones(2))
    with pytest.raises(StoreError, match="register"):
        mercer.save(f, tmp_path / "f")
    assert not (tmp_path / "f").exists()
    assert not list(tmp_path.iterdir())


def test_other_objects_are_refused(tmp_path):
    with pytest.raises(StoreError, match="does not hold"):
        mercer.save({"lock": object()}, tmp_path / "f")


def test_a_failed_save_leaves_the_old_file(saved, tmp_path, monkeypatch):
    path = tmp_path / "f"
    mercer.save({"old": 1}, path)

    def crash(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="disk is full"):
        mercer.save({"new": 2}, path)
    monkeypatch.undo()
    assert mercer.load(path) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_mutated_files_give_a_clear_error_or_the_same_model(saved, tmp_path):
    model, path = saved
    original = path.read_bytes()
    rng = np.random.default_rng(0)
    target = tmp_path / "mutant"
    refused = 0
    for trial in range(250):
        data = bytearray(original)
        if trial % 4 == 0:
            data = data[: rng.integers(0, len(data))]
        else:
            for at in rng.integers(0, len(data), 1 + trial % 7):
                data[at] = rng.integers(0, 256)
        target.write_bytes(data)
        try:
            again = mercer.load(target)
        except (StoreError, MemoryError):
            refused += 1
        else:
            # A byte that nothing depends on (a time stamp in the zip's directory) was hit.
            assert (again.predict(X) == model.predict(X)).all()
    assert refused > 150


def forge(path, header, arrays=()):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, data in arrays:
            archive.writestr(name, data)


def test_hostile_files_are_refused(tmp_path):
    path = tmp_path / "f"
    base = {"format": "mercer", "version": 1, "arrays": []}
    for entry, message in [
        ({"object": "os:system", "state": {}}, "does not hold"),
        ({"object": "mercer.store:save", "state": {}}, "does not hold"),
        ({"object": "mercer.kernels.core:importlib", "state": {}}, "does not hold"),
        ({"class": "subprocess:Popen"}, "does not hold"),
        ({"unheard": 1}, "unknown entry"),
        ({"array": 3}, "damaged"),
        ({"array": -1}, "not the number"),
    ]:
        forge(path, base | {"object": entry})
        with pytest.raises(StoreError, match=message):
            mercer.load(path)
    deep = []
    for _ in range(200):
        deep = [deep]
    forge(path, base | {"object": deep})
    with pytest.raises(StoreError, match="nested"):
        mercer.load(path)


def test_sizes_are_bounded_before_anything_is_allocated(tmp_path):
    path = tmp_path / "f"
    base = {"format": "mercer", "version": 1, "object": None}
    forge(path, base | {"arrays": [{"bytes": 10**15, "sha256": ""}]})
    with pytest.raises(MemoryError, match="memory limit"):
        mercer.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", " " * 10**6 + json.dumps(base))
    with pytest.raises(StoreError, match="compressed"):
        mercer.load(path)


def test_versions_and_strangers_are_named(tmp_path):
    path = tmp_path / "f"
    forge(path, {"format": "mercer", "version": 99, "library": "9.9"})
    with pytest.raises(StoreError, match="version 99"):
        mercer.load(path)
    forge(path, {"format": "other"})
    with pytest.raises(StoreError, match="header"):
        mercer.load(path)
    path.write_text("label,x\n1,2\n")
    with pytest.raises(StoreError, match="not a model file"):
        mercer.load(path)
    with pytest.raises(FileNotFoundError, match="no file"):
        mercer.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match="folder"):
        mercer.load(tmp_path)
    with pytest.raises(IsADirectoryError, match="folder"):
        mercer.save({}, tmp_path)


def test_a_missing_array_is_named(saved, tmp_path):
    _, path = saved
    target = tmp_path / "f"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if name != "a0.npy":
                new.writestr(name, old.read(name))
    with pytest.raises(StoreError, match="missing"):
        mercer.load(target)


@pytest.mark.parametrize("name", sorted(mercer.learners.__all__))
@pytest.mark.filterwarnings("ignore")
def test_every_learner_saves_itself(name, tmp_path):
    model = getattr(mercer.learners, name)().fit(X, Y)
    model.save(tmp_path / "m")
    answer = next(a for a in ("predict", "transform", "score_samples") if hasattr(model, a))
    found = getattr(store.load(tmp_path / "m"), answer)(X)
    assert (found == getattr(model, answer)(X)).all()


def test_a_saved_file_is_as_public_as_any_other(tmp_path):
    mercer.save(mercer.Gaussian(), tmp_path / "k.mercer")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "k.mercer").stat().st_mode == (tmp_path / "other").stat().st_mode
