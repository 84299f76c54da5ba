"""Golden scoreboards: what `compare` found on small data of every kind, kept to the digit.

``python tests/selection/golden/make.py`` writes ``boards.json`` beside this file. Without a budget
the race depends on nothing but the seed, and with a generous one everything finishes, so a board
is the same on every run; times are left out. `tests/selection/test_golden.py` compares each board
with its copy here. Write the file again only where scores are meant to change.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

FILE = Path(__file__).with_name("boards.json")
FEW = {"kernels": ["gaussian(1)", "linear()"], "learners": ["ridge", "svm"], "cv": 3}
#: What a clock measured.
TIMES = ("seconds", "fit_seconds", "predict_seconds")


def table(n=90):
    """Columns of every type, with gaps, and targets: two classes, three, and numbers."""
    rng = np.random.default_rng(3)
    age, town = np.round(rng.normal(40, 10, n), 1), rng.choice(["Ulm", "Bonn", "Köln"], n)
    member = rng.random(n) > 0.4
    frame = pd.DataFrame(
        {
            "age": age,
            "town": town,
            "same": 1,
            "member": member,
            "joined": pd.date_range("2020-01-01", periods=n, freq="7D").strftime("%Y-%m-%d"),
            "remark": [f"remark number {i}, written on day {i * i % 97}" for i in range(n)],
            "visits": rng.integers(0, 30, n),
        }
    )
    frame["label"] = np.where((age > 40) ^ (town == "Ulm"), "yes", "no")
    frame["grade"] = np.digitize(age + 5 * member, [35, 42])
    frame["income"] = np.round(100 * age + 300 * member + 50 * rng.normal(size=n), 1)
    frame.loc[:4, "age"] = np.nan
    frame.loc[10:12, "town"] = None
    return frame


def mail(i):
    return f"From: a{i}@x.org\nSubject: {'pills' if i % 3 else 'minutes'}\n\nhi {i % 7}".encode()


def cases(folder):
    """Per case what is given to `compare`: X, y and options."""
    from mercer import data

    rng = np.random.default_rng(5)
    frame = table()
    plain = frame.drop(columns=["label", "grade", "income"])
    held = frame.drop(columns=["grade", "income"]).astype({"label": object})
    held.loc[[7, 20], "label"] = None
    held.to_csv(folder / "table.csv", index=False)
    frame.drop(columns=["label", "grade"]).to_csv(folder / "income.csv", index=False)
    words = ["money win prize", "lunch at noon", "train is late"]
    texts = [f"{words[i % 3]} {i} {'today' if i % 5 else 'now'}" for i in range(60)]
    lines = [f"row{i}\t{text}\tc{i % 3}" for i, text in enumerate(texts)]
    (folder / "texts.tsv").write_text("id\ttext\tlabel\n" + "\n".join(lines) + "\n")
    gaps = rng.normal(size=(80, 4))
    gaps[:, 3] = gaps[:, 0] > 0.3
    target = np.sin(gaps[:, 0]) + gaps[:, 1] ** 2
    gaps[3:9, 1] = np.nan
    counts = sparse.random(80, 40, 0.2, random_state=0, format="csr")
    heavy = np.asarray(counts.sum(axis=1)).ravel() > 4
    np.savez(folder / "pair.npz", X=counts.toarray(), y=heavy.astype(float))
    rows = [
        f"{int(label)} " + " ".join(f"{j + 1}:{row[0, j]:.4f}" for j in row.indices)
        for label, row in zip(heavy, counts, strict=True)
    ]
    (folder / "pair.libsvm").write_text("\n".join(rows) + "\n")
    digits = data.digits()
    moons, blobs = data.moons(100), rng.normal(size=(90, 2)) + 2 * np.eye(3, 2)[np.arange(90) % 3]
    letters = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(60)]
    mixed = [[i % 7, "ab"[i % 2], f"{i % 5}"] for i in range(60)]
    mixed = pd.DataFrame(np.array(mixed, dtype=object), columns=["a", "b", "c"])
    return {
        "vectors, two classes": (*moons, {"cv": 3}),
        "vectors, three classes": (blobs, np.arange(90) % 3, {"cv": 3, "learners": ["ridge"]}),
        "lists, repeats, a metric": (
            blobs.tolist(), ["u", "v", "w"] * 30, FEW | {"repeats": 2, "metric": "f1_macro"}
        ),
        "numbers": (*data.sine_linear_noise(60), {"cv": 3, "random_state": 2}),
        "numbers with gaps and bits": (gaps, target, FEW | {"metric": "neg_mean_absolute_error"}),
        "images": (digits.X[:90].reshape(-1, 8, 8), digits.y[:90], FEW),
        "sparse rows": (counts, heavy, FEW),
        "strings": (texts, np.arange(60) % 3, {"cv": 3, "learners": ["ridge", "perceptron"]}),
        "strings of one length": (letters, [x[0] for x in letters], {"cv": 3, "learners": ["svm"]}),
        "mail": ([mail(i) for i in range(45)], np.arange(45) % 3 > 0, FEW | {"learners": None}),
        "frame, two classes": (frame[[*plain, "label"]], "label", FEW),
        "frame, numbers": (plain.drop(columns="remark"), frame["income"], FEW),
        "frame, three classes": (plain[["age", "town", "visits"]], frame["grade"].to_list(), FEW),
        "frame of text": (pd.DataFrame({"sms": texts}), np.arange(60) % 2, {"cv": 3,
                          "learners": ["ridge"]}),
        "objects": (mixed, np.arange(60) % 2 + (np.arange(60) % 7 > 3), FEW),
        "csv, two classes": (data.load(folder / "table.csv", "label"), None, {"cv": 3}),
        "csv, numbers": (data.load(folder / "income.csv", "income"), None, FEW),
        "tsv of text": (data.load(folder / "texts.tsv", "label"), None, {"cv": 3,
                        "learners": ["svm"]}),
        "npz": (data.load(folder / "pair.npz"), None, FEW),
        "libsvm": (data.load(folder / "pair.libsvm"), None, FEW),
        "a toy, much time": (data.named("circles", n=60), None, FEW | {"budget": "10min"}),
        "a search": (*data.sine_linear_noise(40), FEW | {"search": True, "learners": ["ridge"]}),
    }  # fmt: skip


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def found(X, y, options):
    """What a board says, its model's steps, and what the model answers for the rows given."""
    from mercer.selection import compare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        board = compare(X, y, holdout=None, rivals=None, **options)
        rows = getattr(X, "X", X)
        rows = rows.drop(columns=[y]) if isinstance(y, str) else rows
        rows = rows.reshape(len(rows), -1) if getattr(rows, "ndim", 2) == 3 else rows
        answers = board.best.predict(rows)
    told = without_times(board.to_dict())
    # What the race itself says; headlines, checks of the data and rivals have tests of their own.
    del told["headline"], told["saved"], told["best"]["rival"]
    for row in told["rows"]:
        del row["rival"]
    told["notes"] = [str(n) for n in board.notes if getattr(n, "kind", "") != "trap"]
    told["steps"] = [name for name, _ in board.best.steps]
    told["oof"] = board.oof.predicted.tolist()
    told["answers"] = answers.tolist()
    return json.loads(json.dumps(told))


def main(names):
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases(Path(folder)).items():
            if not names or name in names:
                known[name] = found(*case)
                print(name)
    lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in known.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
