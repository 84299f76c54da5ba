"""`mercer prove EXPR`: a proof, a counterexample, or neither."""

from __future__ import annotations

import click

from mercer.cli.output import echo_tree, json_option, print_json


@click.command("prove", context_settings={"ignore_unknown_options": True})
@click.argument("expression")
@click.option(
    "--n-features", type=click.IntRange(min=1), help="Number of columns the data will have."
)
@json_option
@click.pass_context
def command(ctx: click.Context, expression: str, n_features: int | None, as_json: bool) -> None:
    """Is EXPRESSION a kernel? Prints a proof, or points and a vector c with cᵀKc < 0.

    \b
      mercer prove "0.5*gaussian(sigma=2) + polynomial(3, offset=1)"
      mercer prove "gaussian(1) - 2*linear()"

    Exit code: 0 proved, 1 refuted, 3 undecided.
    """
    import mercer

    answer = mercer.prove(mercer.parse(expression), n_features=n_features)
    if as_json:
        print_json(answer.to_dict())
    else:
        echo_tree(str(answer))
    ctx.exit({True: 0, False: 1, None: 3}[answer.holds])
