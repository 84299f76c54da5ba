"""Broken data files, by the thousand: ``python tests/data/fuzz_files.py csv 10000 0``.

Tables are broken as bytes (flips, cuts, noise, other encodings) and as tables (quotes, separators,
ragged rows, huge fields, odd numbers and names). The other formats are broken as bytes, and their
headers made to promise what is not there.
"""

import gzip
import io
import struct
import sys
import tempfile
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

ODD_FIELDS = [
    "",
    " ",
    '"',
    '""',
    '"a',
    'a"b',
    "'",
    "1e999",
    "-1e-999",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "NA",
    "?",
    "0x10",
    "1_000",
    "1,5",
    "١٢٣",
    str(2**63),
    str(-(2**64)),
    "9" * 400,
    "1" + "0" * 5000,
    "2024-13-45",
    "2024-02-30",
    "9999-12-31T23:59:59.999999999Z",
    "0000-00-00",
    "12/31/2024",
    "True",
    "FALSE",
    "=cmd|' /C calc'!A0",
    "__import__('os').system('true')",
    "\x00",
    "\x1a",
    "\ufeff",
    "\u202e",
    "ü" * 50,
    "x" * 70_000,
    "a\nb",
    "a\rb",
    "\\",
    "{}",
    "[1, 2]",
    "#",
    "//",
]
ENCODINGS = ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32", "utf-7", "cp1252"]


def table(rng, rows=12):
    """The cells of a table with columns of every type."""
    names = ["id", "height", "town", "day", "ok", "note", "label"]
    lines = [names]
    for i in range(rows):
        lines.append(
            [
                str(i),
                f"{rng.normal(170, 9):.2f}",
                str(rng.choice(["Ulm", "Bonn", "Köln", ""])),
                f"2024-0{rng.integers(1, 10)}-1{rng.integers(0, 10)}",
                str(rng.choice(["true", "false"])),
                " ".join(rng.choice(["the", "cat", "sat", "on", "mats"], 4)),
                str(rng.choice(["yes", "no"])),
            ]
        )
    return lines


def broken_table(rng):
    lines = table(rng, int(rng.integers(0, 30)))
    for _ in range(int(rng.integers(0, 4))):
        row = int(rng.integers(0, len(lines)))
        cells = lines[row]
        place = int(rng.integers(0, len(cells))) if cells else 0
        action = int(rng.integers(0, 8))
        if action < 3 and cells:
            cells[place] = ODD_FIELDS[int(rng.integers(0, len(ODD_FIELDS)))]
        elif action == 3:
            del cells[place:]
        elif action == 4:
            cells.extend(["more"] * int(rng.integers(1, 40)))
        elif action == 5:
            lines.insert(row, [])
        elif action == 6 and len(lines) > 1:
            lines[0] = list(lines[0])
            lines[0][place % max(1, len(lines[0])) : place + 1] = ["label"] * int(
                rng.integers(0, 3)
            )
        else:
            value = ODD_FIELDS[int(rng.integers(0, len(ODD_FIELDS)))]
            for other in lines[1:]:
                if len(other) > place:
                    other[place] = value
    separators = [",", ";", "\t", "|", ",,", " ", ":", "\x01"]
    separator = str(rng.choice(separators, p=[0.6, 0.1, 0.1, 0.1, 0.025, 0.025, 0.025, 0.025]))
    ending = str(rng.choice(["\n", "\r\n", "\r", "\n\n"]))
    text = ending.join(separator.join(cells) for cells in lines)
    if rng.random() < 0.5:
        text += ending
    encoding = str(rng.choice(ENCODINGS, p=[0.7, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05]))
    return text.encode(encoding, "replace")


def csv(rng, i):
    data = broken_table(rng)
    if i % 2:
        data = scrambled(data, rng)
    name = str(rng.choice(["t.csv", "t.tsv", "t.txt"], p=[0.8, 0.1, 0.1]))
    if i % 41 == 0:
        name, data = "t.csv.gz", gzip.compress(data, 1)
        if i % 2:
            data = scrambled(data, rng)
    if i % 977 == 0:
        data = b"a,b\n" + b"1,2\n" * 400_000  # 1.6 MB that are sound
    if i % 1009 == 0:
        data = (",".join(f"c{j}" for j in range(3000)) + "\n" + ",".join(["1"] * 3000)).encode()
    targets = ["label", "height", "day", "note", "absent"]
    target = None if rng.random() < 0.3 else str(rng.choice(targets, p=[0.4, 0.3, 0.1, 0.1, 0.1]))
    return name, data, target


def repeated(start, part, times):
    """A .gz file of any length, made without ever holding it."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as stream:
        stream.write(start)
        for _ in range(times):
            stream.write(part)
    return out.getvalue()


def bomb(rng, i):
    """A few kilobytes that unpack to more than the limit, or small rows that grow beyond it."""
    kind = i % 5
    if kind == 0:
        return "t.csv.gz", repeated(b"a,b\n", b"1,2\n" * 250_000, 400), None
    if kind == 1:
        return "t.fasta.gz", repeated(b">x\n", b"ACGT" * 250_000, 400), None
    if kind == 2:
        return "t.csv.gz", repeated(b"a,b,c\n", b"x,,\ny,,\n" * 100_000, 60), None
    if kind == 3:
        head = bytes([0, 0, 8, 3]) + struct.pack(">3I", 4000, 1000, 1000)
        return "t-images-idx3-ubyte.gz", repeated(head, bytes(10**6), 4000), None
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w") as member,
    ):
        member.write(npy(descr="<f8", shape=(50_000_000, 1)))
        for _ in range(400):
            member.write(bytes(10**6))
    return "t.npz", out.getvalue(), None


def libsvm(rng, i):
    odd = ["1:nan", "1:inf", "0:1", "-1:2", "2:1 1:1", "x:y", "99999999999:1", "1:1e999", "qid:1"]
    lines = []
    for _ in range(int(rng.integers(0, 12))):
        cells = [f"{j}:{rng.normal():.3g}" for j in sorted(rng.choice(np.arange(1, 30), 4, False))]
        if rng.random() < 0.2:
            cells.insert(int(rng.integers(0, 5)), str(rng.choice(odd)))
        lines.append(f"{rng.integers(0, 2)} " + " ".join(cells))
    data = "\n".join(lines).encode()
    return "t.libsvm", scrambled(data, rng) if i % 2 else data, None


def idx(rng, i):
    shape = [int(n) for n in rng.choice([0, 1, 3, 2**31, 2**32 - 1], int(rng.integers(0, 6)))]
    head = bytes([0, 0, int(rng.choice([8, 9, 11, 12, 13, 14, 77])), len(shape)])
    data = head + struct.pack(f">{len(shape)}I", *shape) + rng.bytes(int(rng.integers(0, 200)))
    if i % 2:
        kind, size = [(8, 1), (9, 1), (11, 2), (12, 4), (13, 4), (14, 8)][int(rng.integers(6))]
        good = bytes([0, 0, kind, 3]) + struct.pack(">3I", 4, 3, 3) + rng.bytes(36 * size)
        data = good if i % 4 == 1 else scrambled(good, rng)
    if i % 5 == 0:
        return "t-images-idx3-ubyte.gz", gzip.compress(data), None
    return "t-images-idx3-ubyte", data, None


def fasta(rng, i):
    lines = []
    for _ in range(int(rng.integers(0, 8))):
        lines.append(str(rng.choice([">seq|a", ">", ">x y", "; note", ">é|b", "  "])))
        lines.append("".join(rng.choice(list("ACGTN-*"), int(rng.integers(0, 80)))))
    data = "\n".join(lines).encode()
    return "t.fasta", scrambled(data, rng) if i % 2 else data, None if i % 3 else "label"


def mbox(rng, i):
    message = (
        "From a@b Thu Jan  1 00:00:00 1970\nFrom: =?utf-8?b?w7w=?= <a@b>\nX-Label: {}\n"
        "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x--\n\n"
    )
    data = "".join(message.format(rng.choice(["ham", "spam"])) for _ in range(3)).encode()
    return "t.mbox", scrambled(data, rng), None if i % 2 else "X-Label"


def npy(descr="<f8", shape=(3, 2), fortran=False):
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def npz(rng, i):
    out = io.BytesIO()
    packed = zipfile.ZIP_DEFLATED if i % 3 == 0 else zipfile.ZIP_STORED
    shapes = [(10**12,), (2**62, 4), (-1, 2), (3, 2), (6,), (10**6, 10**6), (0, 10**15), (1,) * 70]
    kinds = ["<f8", "|O", "<U0", "|V0", "|b1", ">i4", "<c16", [("a", "<f8")], "junk"]
    with zipfile.ZipFile(out, "w", packed) as archive:
        for name in ("X.npy", "y.npy", str(rng.choice(["../x.npy", "X.npy", "z.txt"]))):
            if rng.random() < 0.4:
                head = npy(
                    kinds[int(rng.integers(0, len(kinds)))],
                    shapes[int(rng.integers(0, len(shapes)))],
                    bool(rng.integers(0, 2)),
                )
                archive.writestr(name, head + rng.bytes(int(rng.integers(0, 64))))
            else:
                stream = io.BytesIO()
                np.save(stream, rng.normal(size=(4, 2)) if name[0] == "X" else np.arange(4) % 2)
                archive.writestr(name, stream.getvalue())
    data = out.getvalue()
    return "t.npz", scrambled(data, rng) if i % 2 else data, None if i % 4 else "y"


def parquet(rng, i):
    """Columns of every type that a writer may have chosen, sound or scrambled."""
    import pyarrow as pa
    from pyarrow import parquet as writer

    n, out = int(rng.integers(0, 12)), io.BytesIO()
    columns = [
        pa.array(rng.normal(size=n)),
        pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64())),
        pa.array([{"a": 1}] * n, pa.struct([("a", pa.int8())])),
        pa.array([b"\xff\x00"] * n, pa.binary()),
        pa.array([2**63] * n, pa.uint64()),
        pa.array([1] * n, pa.decimal128(30, 5)),
        pa.array([2**62] * n, pa.timestamp("ns", "UTC")),
        pa.array([1] * n, pa.duration("s")),
        pa.array(["x", "y"] * n)[:n].dictionary_encode(),
        pa.array([None] * n, pa.null()),
        pa.array([True, None] * n)[:n],
        pa.array([str(v) for v in rng.choice(ODD_FIELDS, n)]),
        pa.array([float("nan"), float("inf")] * n)[:n],
    ]
    chosen = [columns[int(j)] for j in rng.integers(0, len(columns), int(rng.integers(0, 4)))]
    names = [str(rng.choice(["a", "label", "", "\x1b[31m", "x" * 300, "1"])) for _ in chosen]
    table = pa.table([*chosen, pa.array([0, 1] * n)[:n]], names=[*names, "label"])
    writer.write_table(table, out, compression=str(rng.choice(["none", "snappy", "gzip"])))
    data = out.getvalue()
    return "t.parquet", scrambled(data, rng) if i % 2 else data, None if i % 3 else "label"


def rows(rng, i):
    """New rows for a model, read as a stream."""
    _, data, _ = csv(rng, 2 * i + 1)
    return "rows", data, i


def read(path, target):
    if path.name != "rows":
        from mercer import data

        return data.load(path, target)
    from mercer.data import Schema
    from mercer.data.rows import read_rows

    schemas = [
        Schema("table", ("height", "town", "day"), ("number", "category", "date")),
        Schema("table", ("ok", "note"), ("truth", "text")),
        Schema("vectors"),
        Schema("strings", ("note",), ("text",)),
        Schema("strings"),
        Schema("mail"),
    ]
    with path.open("rb") as stream:
        return [len(block.X) for block in read_rows(stream, schemas[target % 6], block=200)]


MAKERS = {
    "csv": csv,
    "rows": rows,
    "bomb": bomb,
    "libsvm": libsvm,
    "idx": idx,
    "fasta": fasta,
    "mbox": mbox,
    "npz": npz,
    "parquet": parquet,
}


def import_readers():
    """What the readers import on first use."""
    import mailbox  # noqa: F401

    import pandas as pd
    from sklearn.datasets import load_svmlight_file  # noqa: F401

    from mercer import data

    when = ["2024-01-01"] * 3 + [None]
    frame = pd.DataFrame({"n": [1.0, 2, 3, None], "d": when, "w": list("abca"), "t": [0, 1, 0, 1]})
    data.Dataset.of(frame, "t")


def main(kinds, count, seed):
    import mercer
    from mercer.data import DataError

    mercer.set_config(memory="256MB", progress=False)
    with tempfile.TemporaryDirectory() as folder:
        for kind in set(kinds) - {"bomb"}:  # so that no import happens under the guard
            for i in range(60):
                name, content, target = MAKERS[kind](np.random.default_rng([99, i]), i)
                (Path(folder) / name).write_bytes(content)
                with suppress(DataError, MemoryError):
                    read(Path(folder) / name, target)
        import_readers()
        guard = Guard((DataError, MemoryError))
        for kind in kinds:
            for i in turns(count):
                name, content, target = MAKERS[kind](np.random.default_rng([seed, i]), i)
                path = Path(folder) / name
                path.write_bytes(content)
                label = f"{kind} {i} of seed {seed}"
                guard.attempt(label, partial(read, path, target))
                if path.read_bytes() != content:
                    guard.problems.append(f"{label}: the file was changed")
                path.unlink()
    guard.report()


if __name__ == "__main__":
    import warnings

    from fuzzing import Guard, scrambled, turns  # found beside this folder

    warnings.simplefilter("ignore")
    main(sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3]))
