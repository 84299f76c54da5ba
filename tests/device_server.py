"""Runs scripts for `run_on_device`: imports what is slow to import once, then forks per script.

A line on stdin is a task in JSON: the script, the folder to run it in, and the file that takes what
it prints. The answer is a line with its exit code. A fork has all the imports and nothing of the
scripts before it, and no CUDA context exists before the fork.
"""

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


def main():
    measured = start_coverage()
    import numba  # noqa: F401
    import scipy.linalg
    import scipy.sparse.linalg  # noqa: F401
    import sklearn.base  # noqa: F401
    import torch  # noqa: F401
    import triton.language  # noqa: F401
    from triton.runtime.interpreter import GridExecutor

    import mercer.learners  # noqa: F401

    if measured is not None:
        GridExecutor.__call__ = untraced(GridExecutor.__call__)

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(json.loads(line), measured)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
