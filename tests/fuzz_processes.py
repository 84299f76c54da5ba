"""Processes in trouble: ``python tests/fuzz_processes.py streams 10000 0``.

streams     commands whose standard streams are closed or cannot be written to: the same exit code
outputs     commands that are to write to a pipe or a terminal: refused, and it stays what it is
interrupts  Ctrl-C at a random moment of a fit or a comparison: gone within `PATIENCE` seconds
first       the first fit of a process: the same model as the second

Each attempt is a child of a process that has imported everything and fitted nothing.
"""

import os
import signal
import stat
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

import mercer

#: Seconds after Ctrl-C in which a command has to end.
PATIENCE = 2.0
ANSWERS = [
    (0, "prove gaussian(1)+linear()"),
    (1, "prove gaussian(1)-2*linear()"),
    (2, "prove gausian(1)"),
    (0, "explain gaussian(1) --json"),
    (0, "data xor"),
    (0, "data"),
    (2, "comprae"),
    (0, "--version"),
    (0, "fit xor --kernel gaussian(1) --learner ridge --model m.mercer"),
    (2, "fit xor --kernel gaussian(1) --model no/such/folder"),
    (0, "predict FITTED"),
]
WRITERS = [
    "fit xor --kernel gaussian(1) --learner ridge --model",
    "compare xor --kernel linear() --learner ridge --cv 2 --holdout none --model",
    "compare xor --kernel linear() --learner ridge --cv 2 --holdout none --report",
    "export FITTED",
]


class Wrong(Exception):
    """Something that must not happen to a process."""


def child(act, closed=(), seconds=60.0, interrupt=None):
    """Exit status, what went to stderr, and seconds after the interrupt, of `act` in a child.

    Seconds in which it waited for a processor are not counted.
    """
    from fuzzing import elsewhere

    told = tempfile.TemporaryFile()  # noqa: SIM115
    process = os.fork()
    if process == 0:
        os._exit(_run(act, closed, told))
    begin, sent, ended = elsewhere(process), None, os.WEXITED | os.WNOHANG | os.WNOWAIT
    while not os.waitid(os.P_PID, process, ended):
        now = elsewhere(process)
        if interrupt is not None and sent is None and now - begin >= interrupt:
            sent = now
            os.kill(process, signal.SIGINT)
        if now - begin > seconds:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise Wrong(f"took more than {seconds} s")
        time.sleep(0.002)
    took = 0.0 if sent is None else elsewhere(process) - sent
    _, status = os.waitpid(process, 0)
    told.seek(0)
    return os.waitstatus_to_exitcode(status), told.read().decode(errors="replace"), took


def _run(act, closed, told):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(told.fileno() if number == 2 else nothing, number)
        if closed and closed[number] == "closed":
            os.close(number)
            setattr(sys, name, None)
        elif closed and closed[number] == "unwritable" and number == 2:
            os.dup2(os.open(__file__, os.O_RDONLY), 2)
    try:
        return int(act() or 0)
    except SystemExit as end:
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 130
    except BaseException:
        import traceback

        with suppress(Exception):
            told.write(traceback.format_exc().encode())
            told.flush()
        return 99


def command(words):
    from mercer.cli import main

    sys.argv = ["mercer", *words]
    main()


def streams(rng, i, folder):
    code, words = ANSWERS[int(rng.integers(len(ANSWERS)))]
    closed = [str(rng.choice(["open", "closed", "unwritable"])) for _ in range(3)]
    words = words.replace("FITTED", str(folder / "fitted.mercer")).split()
    found, told, _ = child(partial(command, words), closed)
    if found != code or "Traceback" in told:
        raise Wrong(f"{words} with {closed} ends with {found}, not {code}: {told[-300:]}")


def outputs(rng, i, folder):
    words = WRITERS[i % len(WRITERS)].replace("FITTED", str(folder / "fitted.mercer")).split()
    master = slave = None
    if rng.random() < 0.5:
        path = folder / "pipe"
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        master = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    else:
        master, slave = os.openpty()
        path = Path(os.ttyname(slave))
    given = path
    if rng.random() < 0.5:
        given = folder / "link"
        given.unlink(missing_ok=True)
        given.symlink_to(path)
    kind = stat.S_IFMT(path.lstat().st_mode)
    try:
        found, told, _ = child(partial(command, [*words, str(given)]))
        if stat.S_IFMT(path.lstat().st_mode) != kind:
            raise Wrong(f"{words} replaced {given}")
        if found != 2 or "another device" not in told:
            raise Wrong(f"{words} to {given} ends with {found}: {told[-300:]}")
    finally:
        for handle in (master, slave):
            if handle is not None:
                os.close(handle)


INTERRUPTED = [
    "fit moons --kernel gaussian(0.5) --learner svm --cv 5 --model m.mercer",
    "compare moons --cv 3",
    "compare digits --budget 20",
    "fit digits --kernel polynomial(3) --learner logistic --cv 3 --model m.mercer",
    "prove gaussian(1)*sigmoid(1,1)+1",
]


#: Seconds up to which each is interrupted: 3, or what it took, found at its first turn.
LASTED = {}


def interrupts(rng, i, folder):
    turn = i % len(INTERRUPTED)
    words = INTERRUPTED[turn].split()
    after = float(rng.uniform(0.0, LASTED[turn])) if turn in LASTED else 3.0
    begin = time.monotonic()
    found, told, took = child(partial(command, words), interrupt=after)
    LASTED.setdefault(turn, min(3.0, time.monotonic() - begin))
    if "Exception ignored in" in told and "importlib" in told:
        return  # raised in a callback of the import lock, where Python itself drops it
    if took and found not in (0, 1, 3, 130):
        raise Wrong(f"{words}, interrupted after {after:.2f} s, ends with {found}: {told[-300:]}")
    if took > PATIENCE:
        raise Wrong(f"{words}, interrupted after {after:.2f} s, goes on for {took:.1f} s")
    if "Traceback" in told:
        raise Wrong(f"{words}, interrupted after {after:.2f} s: {told[-500:]}")


def first(rng, i, folder):
    """As a string, a function or a matrix, where no loop over vectors is compiled."""
    n = int(rng.integers(30, 700))
    seed = int(rng.integers(2**31))
    found, told, _ = child(partial(_twice, i, n, seed))
    if found:
        raise Wrong(f"case {i % 12} with {n} rows and seed {seed}: {told[-400:]}")


def _twice(i, n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    y = np.sign(rows[:, 0] * rows[:, 1] + 0.1 * rng.normal(size=n))
    letters = ["".join("acgt"[int(v * 7) % 4] for v in np.repeat(row, 4)) for row in np.abs(rows)]
    matrix = mercer.Gaussian(1.0)(rows)
    cases = [(mercer.kernels.WeightedDegree(3), letters), ("precomputed", matrix),
             ("gaussian(1)", rows), (lambda x, z: float(x @ z) ** 2, rows[:150])]  # fmt: skip
    kernel, X = cases[i % 4]
    make = (mercer.KernelSVC, mercer.KernelRidgeClassifier, mercer.KernelPerceptron)[i // 4 % 3]
    once, again = (make(kernel).fit(X, y[: len(X)]).predict(X) for _ in range(2))
    if not (once == again).all():
        share = float((once == again).mean())
        raise Wrong(f"{make.__name__} on {type(kernel).__name__}: {share:.2f} agree")


def main(kind, count, seed):
    from fuzzing import Guard, turns

    if kind != "first":
        from mercer import report  # noqa: F401
        from mercer.cli import app, compare  # noqa: F401

    mercer.set_config(progress=False, threads=1)
    act = {"streams": streams, "outputs": outputs, "interrupts": interrupts, "first": first}[kind]
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        folder = Path(name)
        if kind != "first":  # nothing is fitted before
            X, y = mercer.data.xor()
            model = mercer.KernelRidgeClassifier("gaussian(1)").fit(X, y)
            mercer.save(model, folder / "fitted.mercer")
        guard = Guard((ValueError,), seconds=100.0, extra_memory=32 * 2**30, audit=False)
        for i in turns(count):
            label = f"{kind} {i} of seed {seed}"
            guard.attempt(label, partial(act, np.random.default_rng([seed, i]), i, folder))
        os.chdir("/")
    guard.report()


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
