"""The group of commands: each is loaded when it is called, and errors become exit codes.

===  ==========================================================================================
0    done; the answer, if one was asked for, is yes
1    the answer is no: not a kernel, a missed claim
2    the command or its input cannot be used as given; nothing was written
3    no answer: neither proved nor refuted
70   a fault of this program (`mercer --debug …` shows where)
130  interrupted by Ctrl-C
141  whoever read the output went away (`| head`)
===  ==========================================================================================
"""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback
import warnings
from importlib import import_module
from typing import Any, NoReturn

import click

import mercer
from mercer._machine.deadline import begin_command
from mercer._suggest import suggest
from mercer.cli.output import echo, say

NO, BAD_INPUT, UNDECIDED, FAULT, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 70, 130, 141

#: One file per command; the words are here so that `--help` need not load any of them.
COMMANDS = {
    "compare": "Try kernels × learners on a data file; print a scoreboard, save the best.",
    "fit": "Fit one learner with one kernel and save it.",
    "predict": "Predict for rows from a file or a pipe, in constant memory.",
    "prove": "Is it a kernel? A proof, or a counterexample.",
    "explain": "What an expression computes, or what a model file holds.",
    "data": "List and make data sets, or say what is in a file.",
    "export": "Write a model as ONNX.",
    "warm": "Compile ahead what first fits would wait for (for containers).",
    "lab": "See kernels move: a page in the browser to draw, to learn, to understand.",
    "bench": "Measure the claims about speed and memory (in a source checkout).",
    "completion": "Print the script that completes commands in your shell.",
}

#: What a user can put right: said in one line, without a traceback.
USER_ERRORS = (ValueError, OSError, MemoryError, ImportError, LookupError)

EPILOG = (
    "Exit codes: 0 done or yes, 1 no (not a kernel, a claim missed), 2 the command or its input "
    "is wrong, 3 undecided, 130 Ctrl-C. Results go to stdout, progress and notes to stderr; "
    "--json is for programs. Shell completion: mercer completion --help."
)


class App(click.Group):
    """Lazy commands, suggestions for typing errors, and one place where errors end."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"mercer.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            raise click.UsageError(f"there is no command {name!r}.{suggest(name, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run, and end the process with one of the codes above."""
        begin_command(whole_process=args is None)
        if args is None:  # the process is our own: to load modules makes no garbage to look for
            gc.set_threshold(100_000)
        extra.pop("standalone_mode", None)
        argv = list(sys.argv[1:] if args is None else args)
        debug = bool(argv and argv[0] == "--debug") or bool(os.environ.get("MERCER_DEBUG"))
        with warnings.catch_warnings():
            warnings.showwarning = _one_line  # type: ignore[assignment]
            code = _run(lambda: super(App, self).main(
                argv, "mercer", standalone_mode=False, **extra), debug)  # fmt: skip
        if args is None:  # nothing is left that must be found and freed
            gc.freeze()
        sys.exit(code)


def _run(call: Any, debug: bool) -> int:
    try:
        result = call()
        sys.stdout.flush()
        return result if isinstance(result, int) and not isinstance(result, bool) else 0
    except click.ClickException as error:
        told = io.StringIO()
        error.show(told)
        say(told.getvalue().rstrip("\n"))
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except SystemExit:
        # How click ends when whoever read our output went away, in quiet.
        return BROKEN_PIPE
    except USER_ERRORS as error:
        if debug:
            say(traceback.format_exc())
        say(f"Error: {_words(error)}")
        return BAD_INPUT
    except Exception as error:
        if debug:
            say(traceback.format_exc())
        else:
            say("This is a fault of mercer, not yours.")
            say("Run `mercer --debug …` to see where it arose.")
        say(f"Error: {type(error).__name__}: {error}")
        return FAULT


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: " if error.filename else ""
        return f"{what}{error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f"this needs {package}: pip install {package}"
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is not there" if error.args else "something is not there"
    return str(error) or type(error).__name__


def _one_line(message: Any, category: Any, *place: Any, **more: Any) -> None:
    """Warnings without the place in the code, which says nothing to who runs a command."""
    if issubclass(category, (DeprecationWarning, FutureWarning)):
        return
    say(f"warning: {' '.join(str(message).split())}")


@click.group(
    cls=App,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(mercer.__version__, "--version", prog_name="mercer")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def app(ctx: click.Context, debug: bool) -> None:
    """Kernel machines: from a data file to a model you can trust.

    \b
      mercer compare data.csv --target label --out found
      mercer predict found/model.mercer < rows.csv > answers.csv
      mercer prove "gaussian(1) - 2*linear()"
    """
    if ctx.invoked_subcommand is None:
        echo(ctx.get_help())
