"""What commands share: consoles, JSON, resources, and the reading of options."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mercer._suggest import nearest
from mercer.cli.safe import safe

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])

#: Seconds in which a scheduler has to answer.
CONNECT = 10
#: Columns of text when nobody watches: the same everywhere, and no word is cut off.
PIPED_WIDTH = 100


def console(stderr: bool = False) -> Console:
    """For people: colors in a terminal, plain text in a pipe; what is shown is `safe`."""
    import os

    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, *what: Any, **how: Any) -> Any:
            for text, style, control in super().render(*what, **how):
                yield Segment(text if control else safe(text), style, control)

    stream = sys.stderr if stderr else sys.stdout
    fixed = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return SafeConsole(file=stream, highlight=False, soft_wrap=False, width=fixed)


def echo(text: str, err: bool = False) -> None:
    """A text for people: the one place where commands print it."""
    click.echo(safe(text), err=err)


def say(text: str) -> None:
    """A sentence on stderr, where it does not mix with results; none where nobody can read it."""
    with suppress(OSError):
        echo(text, err=True)


def echo_tree(tree: str) -> None:
    """A printed tree on stdout; in a terminal, long lines go on below their own branch."""
    import shutil

    if sys.stdout.isatty():
        tree = wrap_tree(tree, shutil.get_terminal_size().columns)
    echo(tree)


def wrap_tree(tree: str, width: int) -> str:
    """
    >>> print(wrap_tree("└─ one two three", 12))
    └─ one two
         three
    """
    import textwrap

    lines = []
    for line in tree.splitlines():
        words = line.lstrip("│├└─ ")
        branch = line[: len(line) - len(words)]
        below = branch.replace("├─", "│ ").replace("└─", "  ") + "  "
        lines += textwrap.wrap(
            words, width, initial_indent=branch, subsequent_indent=below, break_on_hyphens=False
        ) or [line]
    return "\n".join(lines)


def print_json(value: Any) -> None:
    from mercer._json import plain

    text = json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    # JSON has escapes of its own, by which programs read back what was there.
    click.echo("".join(c if safe(c) == c else json.dumps(c)[1:-1] for c in text))


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        function
    )


def resource_options(function: F) -> F:
    """--memory, --threads and --cluster: where the command runs, and within which limits."""

    @wraps(function)
    def limited(
        memory: str | None, threads: int | None, cluster: str | None, **options: Any
    ) -> Any:
        import mercer

        given = {"memory": memory, "threads": threads}
        limits: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        with _client_of(cluster) as client, mercer.config(**limits, cluster=client):
            return function(**options)

    for option in (
        click.option("--cluster", metavar="ADDRESS",
                     help="Work on this Dask cluster, such as tcp://host:8786."),
        click.option("--threads", type=click.IntRange(min=1), help="Threads to use."),
        click.option("--memory", metavar="SIZE", help="Limit of memory, such as 4GB."),
    ):  # fmt: skip
        limited = option(limited)
    return limited  # type: ignore[return-value]


@contextmanager
def _client_of(address: str | None) -> Iterator[Any]:
    """A connection to the scheduler of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        needed = "pip install 'dask[array,dataframe]' distributed"
        raise click.UsageError(f"--cluster needs Dask: {needed}") from None
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise click.UsageError(
            f"no scheduler of Dask answers at {address!r}: {error}. It is started by "
            "`dask scheduler`, which prints its address"
        ) from None
    with client:
        yield client


def data_options(function: F) -> F:
    """DATA and what is said about it: the command gets the data set as `found`."""
    from mercer.data.dataset import Dataset
    from mercer.data.formats import FORMATS
    from mercer.data.targets import TASKS

    @wraps(function)
    def loaded(
        data: Any, target: Any, task: Any, file_format: Any, columns: Any, exclude: Any,
        **options: Any,
    ) -> Any:  # fmt: skip
        found = Dataset.of(load_data(data, target, file_format, columns), task=task)
        return function(found=found.without(_names(exclude)) if exclude else found, **options)

    known = ", ".join(FORMATS)
    for option in (
        click.option("--columns", metavar="A,B,…", help="Use these columns of a table only."),
        click.option("--exclude", metavar="A,B,…", help="Leave these columns of a table out."),
        click.option("--format", "file_format", metavar="NAME",
                     help=f"What the file is, if its name does not say: {known}."),
        click.option("--task", type=click.Choice(TASKS),
                     help="Take the target for classes or for numbers; else it tells."),
        click.option("--target", metavar="NAME", help="The column (array, header) to predict."),
        click.argument("data", required=False),
    ):  # fmt: skip
        loaded = option(loaded)
    return loaded  # type: ignore[return-value]


def load_data(
    path: str | None, target: str | None, file_format: str | None, columns: str | None
) -> Any:
    """The data set a command was given; scikit-learn's digits or a toy by name if no file."""
    from mercer import data
    from mercer.data.columns import listed
    from mercer.data.toys import TOYS

    if path is None:
        return data.digits()
    if not Path(path).exists() and (path == "digits" or path in TOYS):
        return data.named(path)
    if not Path(path).exists() and not any(c in path for c in "./\\"):
        near = nearest(path, ["digits", *TOYS, *(p.name for p in Path().iterdir())])
        hint = f" Did you mean {near!r}?" if near else " `mercer data` lists the data sets."
        raise click.UsageError(f"there is no file and no data set {path!r}.{hint}")
    chosen = _names(columns) if columns else None
    found = _in_pieces(path, target, file_format, chosen)
    found = data.load(path, target, file_format, chosen) if found is None else found
    if found.y is None:
        hint = f"; its columns: {listed(found.names, 20)}" if found.kind == "table" else ""
        what = {"strings": "label of the name lines", "mail": "header"}.get(found.kind, "column")
        raise click.UsageError(f"say which {what} to predict: --target NAME{hint}")
    return found


def _in_pieces(path: str, target: str | None, file_format: str | None, columns: Any) -> Any:
    """A sample of a table that is read in pieces; None where it is read whole."""
    from mercer.engines.cluster.tables import in_pieces, open_table, sampled

    if not in_pieces(path, file_format):
        return None
    return sampled(open_table(path, file_format), target, columns)


def _names(columns: str) -> list[str]:
    return [c.strip() for c in columns.split(",") if c.strip()]


def parse_value(text: str) -> Any:
    """`--set C=10`: a number, true, false, none, or else a word.

    >>> parse_value("10"), parse_value("1e-3"), parse_value("true"), parse_value("average")
    (10, 0.001, True, 'average')
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """{"C": 10} from ("C=10",)."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--set takes NAME=VALUE, such as C=10; got {pair!r}")
        settings[name.strip()] = parse_value(value.strip())
    return settings


def steps_of(model: Any) -> list[Any]:
    """What a pipeline is made of; a model alone is its only step."""
    from sklearn.pipeline import Pipeline

    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
