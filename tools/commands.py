"""The options of the command `mercer` as Markdown, read off the command itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from mercer.cli.app import app


def commands() -> Iterator[tuple[str, click.Command]]:
    """Name and command, `mercer` itself first."""
    yield "mercer", app
    context = click.Context(app)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        yield f"mercer {name}", command


def options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option)]


def table() -> str:
    """One table per command that has options."""
    parts = []
    for name, command in commands():
        rows = [f"| `{one.opts[-1]}`{_value(one)} | {one.help} |" for one in options(command)]
        if rows:
            parts.append("\n".join([f"**{name}**\n", "| option | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _value(option: click.Option) -> str:
    return f" {option.metavar}" if option.metavar else ""
