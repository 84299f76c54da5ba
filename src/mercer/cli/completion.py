"""`mercer completion SHELL`: the script that completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    \b
      bash:  echo 'eval "$(mercer completion bash)"' >> ~/.bashrc
      zsh:   echo 'eval "$(mercer completion zsh)"' >> ~/.zshrc
      fish:  mercer completion fish > ~/.config/fish/completions/mercer.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    # The script alone: click's own check of the shell's version is left to the shell.
    made = kind(ctx.find_root().command, {}, "mercer", "_MERCER_COMPLETE")
    click.echo(made.source_template % made.source_vars())
