"""Runs scripts for `run_on_device`: imports what is slow to import once, then forks per script.

A line on stdin is a task in JSON: the script, the folder to run it in, and the file that takes what
it prints. The answer is a line with its exit code. A fork has all the imports and nothing of the
scripts before it, and no CUDA context exists before the fork.
"""

import gc
import json
import os
import sys
import traceback

from tracing import untraced


def start_coverage():
    """Measure this process and its forks, where the tests are measured (see conftest.py)."""
    if "MEASURE_COVERAGE" not in os.environ:
        return None
    import coverage

    measured = coverage.Coverage(config_file=os.environ["MEASURE_COVERAGE"])
    measured.start()
    return measured


def run(task, measured):
    """In a fork: run the script and end the process."""
    output = os.open(task["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(task["folder"])
    code = 0
    try:
        exec(compile(task["script"], "<script>", "exec"), {"__name__": "__main__"})  # noqa: S102
    except BaseException:
        traceback.print_exc()
        code = 1
    if measured is not None:
        measured.stop()
        measured.save()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def patch_once(interpreter):
    """Triton's interpreter replaces the functions of its language before a kernel runs, and again
    at every call of a function inside it, which took half of the time; here, once per kernel."""
    if not hasattr(interpreter, "_patch_lang"):  # a version that goes about it otherwise
        return
    patch, run, done = interpreter._patch_lang, interpreter.GridExecutor.__call__, set()
    languages = (interpreter.tl, interpreter.tl.core)

    def patched(function):
        seen = tuple(any(g is one for g in function.__globals__.values()) for one in languages)
        if seen in done:
            return None
        done.add(seen)
        return patch(function)

    def call(executor, *arguments, **options):
        done.clear()
        return run(executor, *apart(arguments), **options)

    interpreter._patch_lang, interpreter.GridExecutor.__call__ = patched, call


def apart(arguments):
    """Tensors of one memory that is known by two sizes, which the interpreter takes for one size:
    the second one, which kernels only read, is copied."""
    sizes = {}

    def own(argument):
        if not hasattr(argument, "untyped_storage"):
            return argument
        memory = argument.untyped_storage()
        same = sizes.setdefault(memory.data_ptr(), memory.nbytes()) == memory.nbytes()
        return argument if same else argument.clone()

    return [own(argument) for argument in arguments]


def main():
    measured = start_coverage()
    import numba  # noqa: F401
    import scipy.linalg
    import scipy.sparse.linalg  # noqa: F401
    import sklearn.base  # noqa: F401
    import torch  # noqa: F401
    import triton.language  # noqa: F401
    from triton.runtime import interpreter

    import mercer.learners  # noqa: F401

    patch_once(interpreter)
    if measured is not None:
        interpreter.GridExecutor.__call__ = untraced(interpreter.GridExecutor.__call__)
    gc.freeze()  # else scripts look again and again for garbage among what was imported

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(json.loads(line), measured)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    gc.unfreeze()  # what Triton cannot free, it lists as it ends


if __name__ == "__main__":
    main()
