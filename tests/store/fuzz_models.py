"""Broken and hostile model files, by the thousand: ``python tests/store/fuzz_models.py 10000 0``.

Half of them are scrambled bytes. The other half are well-formed archives, with right checksums,
whose description or arrays say something hostile: those reach every line of the reader.
"""

import copy
import hashlib
import io
import json
import sys
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

CLASSES = [
    "os:system",
    "subprocess:Popen",
    "builtins:eval",
    "mercer.store.reading:load",
    "mercer.kernels.core:os",
    "mercer.kernels..core:Kernel",
    "mercer.kernels.radial:Gaussian",
    "mercer.solvers.online.memory:Memory",
    "mercer.solvers.nowhere:Nothing",
    "sklearn.compose._column_transformer:ColumnTransformer",
    "kernels.Gaussian",
    "kernels.Similarity",
    "kernels.Warp",
    "kernels.Bilinear",
    "kernels.Sum",
    "kernels.parse",
    "expansion.KernelExpansion",
    "learners.KernelSVC",
    "formula.FrozenArray",
    "perceptron.Memory",
    "svm.Pair",
    "sklearn.pipeline.Pipeline",
    "sklearn.compose.ColumnTransformer",
    "numpy:memmap",
    "pathlib:Path",
    "../../etc/passwd:x",
    "",
    "::",
]
SHAPES = [
    (10**12,),
    (2**62, 4),
    (-1,),
    (0, 10**18),
    (1,) * 70,
    (10**6, 10**6),
    (2**31, 2**31, 2**31),
    (),
    (3,),
]
DTYPES = ["|O", "|V0", "|V8", "<U0", "<U1000000", "|S0", "<f8", "<c16", "<M8[ns]", ">i4", "|b1"]


def all_names():
    """Every name that a file may hold, but for kernels from outside."""
    from mercer.store.names import DECLARED, PUBLIC, SKLEARN, find

    own = [f"{p}.{name}" for p in PUBLIC for name in import_module(f"mercer.{p}").__all__]
    others = [f"{package}.{name}" for package, inside in SKLEARN.items() for name in inside]
    return sorted(name for name in {*own, *others, *DECLARED} if find(name))


def bases():
    """Saved models of every kind, as bytes."""
    import pandas as pd
    from scipy.sparse import csr_matrix
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    import mercer
    from mercer.learners import KernelPerceptron, KernelRidge, KernelSVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    y = np.arange(12) % 3
    frame = pd.DataFrame({"a": X[:, 0], "b": np.array(["x", "y", "z"])[y], "c": X[:, 1]})
    encode = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["b"]),
        ]
    )
    kernel = mercer.parse("0.5*gaussian([1.0, 2.0, 3.0]) + linear().on([0, 2]).warp('tanh')")
    models = [
        make_pipeline(encode, KernelSVC("gaussian(1)")).fit(frame, y),
        KernelPerceptron(
            "gaussian(1)", epochs=2, averaging="vote", random_state=np.random.RandomState(0)
        ).fit(X, y),
        KernelRidge(kernel, alphas=[0.1, 1.0]).fit(X, X[:, :2]),
        KernelRidge("linear()").fit(csr_matrix(X), y),
        mercer.KernelExpansion(mercer.Spectrum(2), ["gattaca", "täg"], np.ones(2)),
        {"set": {1, 2.5, "a"}, "s": slice(1, None), "t": (np.float32, b"raw"), "f": frame},
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for i, model in enumerate(models):
            path = Path(folder) / str(i)
            mercer.save(model, path)
            found.append(path.read_bytes())
    with zipfile.ZipFile(Path(__file__).parent / "golden" / "v1.zip") as archive:
        found += [archive.read(f"{name}.mercer") for name in ("svc-three", "primal-vote", "table")]
    return found


def taken_apart(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        header = json.loads(archive.read("header.json"))
        arrays = [archive.read(f"a{i}.npy") for i in range(len(header["arrays"]))]
    return header, arrays


def put_together(header, arrays, rng=None):
    """An archive with right checksums; with `rng`, sometimes an odd archive."""
    sums = [{"sha256": hashlib.sha256(a).hexdigest(), "bytes": len(a)} for a in arrays]
    header = {**header, "arrays": sums} if isinstance(header, dict) else header
    odd = -1 if rng is None else int(rng.integers(0, 12))
    out = io.BytesIO()
    packed = zipfile.ZIP_DEFLATED if odd == 0 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", packed) as archive:
        archive.writestr("../header.json" if odd == 1 else "header.json", json.dumps(header))
        for i, array in enumerate(arrays):
            archive.writestr(f"/a{i}.npy" if odd == 2 else f"a{i}.npy", array)
        if odd == 3:
            archive.writestr("a0.npy", b"again")
        if odd == 4:
            archive.writestr("../../../tmp/evil", b"x")
    return out.getvalue()


def places(node, path=()):
    """Every place in a JSON tree."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def hostile_value(rng, header):
    deep = []
    for _ in range(int(rng.choice([5, 70, 400]))):
        deep = [deep]
    n = len(header["arrays"])
    choices = [
        None,
        -1,
        10**30,
        2**63,
        1e308,
        float("nan"),
        "",
        "x" * 10_000,
        [],
        {},
        deep,
        {"array": int(rng.integers(-2, n + 2))},
        {"scalar": int(rng.integers(0, n + 1))},
        {"bytes": int(rng.integers(0, n + 1))},
        {"csr": [0, 0, 0], "shape": [10**9, 10**9]},
        {"csr": [int(i) for i in rng.integers(0, n + 1, 3)], "shape": [3, 3]},
        {"objects": [1, 2], "shape": [10**9]},
        {"objects": [[1, 2], [3, 4]], "shape": [2]},
        {"frame": [{"array": 0}], "names": ["a"]},
        {"series": {"array": 0}},
        {"dict": [[[1], 2]]},
        {"dict": [[2**61 - 1, 0], [2 * (2**61 - 1), 1]]},
        {"set": [{"float": "nan"}, {"float": "nonsense"}]},
        {"tuple": "abc"},
        {"slice": [1, 2, 3, 4]},
        {"dtype": str(rng.choice(["O", "f8", "V8", "junk", "f8," * 1000]))},
        {"class": str(rng.choice(CLASSES))},
        {"formula": "opaque", "parts": [[], 3]},
        {"formula": "exp", "parts": [[{"array": 0}], None]},
        {"random": ["MT19937", {"array": 0}, 10**9, 0, 0.0]},
        {"random": {"tuple": ["MT19937", {"array": 0}, 700, 0, 0.0]}},
        {"object": str(rng.choice(CLASSES)), "state": {}},
        {"object": str(rng.choice(CLASSES)), "state": {"__class__": {"class": "builtins:int"}}},
        {"object": str(rng.choice(CLASSES)), "state": {"kernel": None, "sigma": {"array": 0}}},
        {"object": "mercer.kernels.on_inputs:Warp", "state": {"kernel": None, "phi": "os.system"}},
        [{"bytes": 0}] * int(rng.choice([3, 2000])),
    ]
    return choices[int(rng.integers(0, len(choices)))]


def hostile_header(header, rng):
    header = copy.deepcopy(header)
    for _ in range(int(rng.integers(1, 4))):
        found = list(places(header))
        path = found[int(rng.integers(0, len(found)))]
        if not path:
            return hostile_value(rng, header)
        node = header
        for key in path[:-1]:
            node = node[key]
        action = int(rng.integers(0, 4))
        if action == 0:
            del node[path[-1]]
        elif action == 1:
            other = found[int(rng.integers(0, len(found)))]
            value = header
            for key in other:
                value = value[key] if not isinstance(value, dict) or key in value else None
            node[path[-1]] = copy.deepcopy(value)
        else:
            node[path[-1]] = hostile_value(rng, {"arrays": header.get("arrays") or []})
        if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
            break
    return header


def hostile_array(data, rng):
    """An .npy file whose header lies."""
    shape = SHAPES[int(rng.integers(0, len(SHAPES)))]
    head = {
        "descr": str(rng.choice(DTYPES)),
        "fortran_order": bool(rng.integers(0, 2)),
        "shape": shape,
    }
    kind = int(rng.integers(0, 5))
    if kind == 0:
        head["descr"] = [("a", "<f8"), ("b", "|O")]
    text = repr(head) if kind != 1 else "__import__('os').system('true')"
    if kind == 2:
        text = "(" * 500 + text
    body = text.encode() + b" " * (64 - (len(text) + 11) % 64) + b"\n"
    size = len(body) if kind != 3 else int(rng.integers(0, 65536))
    return (
        b"\x93NUMPY"
        + bytes([int(rng.choice([1, 1, 1, 2, 3, 9])), 0])
        + min(size, 65535).to_bytes(2, "little")
        + body
        + data[: int(rng.integers(0, 200))]
    )


def mutant(originals, i, rng):
    data = originals[i % len(originals)]
    kind = i % 10
    if kind < 4:
        return scrambled(data, rng)
    if kind == 4:
        other = originals[int(rng.integers(0, len(originals)))]
        a, b = (int(rng.integers(0, len(d))) for d in (data, other))
        return data[:a] + other[b:]
    header, arrays = taken_apart(data)
    if kind < 8:
        return put_together(hostile_header(header, rng), arrays, rng)
    if arrays:
        at = int(rng.integers(0, len(arrays)))
        arrays[at] = hostile_array(arrays[at], rng) if kind == 8 else scrambled(arrays[at], rng)
    return put_together(header, arrays, rng)


def described(model):
    """All that a model is made of."""
    from mercer.store.writing import Writer

    writer = Writer()
    text = json.dumps(writer.encode(model, "model", 0))
    return text, [array.tobytes() for array in writer.arrays]


def main(count, seed):
    import mercer
    from mercer.store import StoreError, names

    for name in all_names():  # so that no import happens under the guard
        names.find(name)
    originals = bases()
    mercer.set_config(memory="256MB", progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        wanted = []
        for data in originals:
            path.write_bytes(data)
            wanted.append(described(mercer.load(path)))
        guard = Guard((StoreError, MemoryError))
        for i in turns(count):
            rng = np.random.default_rng([seed, i])
            path.write_bytes(mutant(originals, i, rng))
            label = f"mutant {i} of seed {seed}"
            found = guard.attempt(label, lambda: mercer.load(path))
            if found is not None and i % 10 < 4 and described(found) != wanted[i % len(originals)]:
                guard.problems.append(f"{label}: an accident was read as another model")
    guard.report()


if __name__ == "__main__":
    import warnings

    from fuzzing import Guard, scrambled, turns  # found beside this folder

    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))
