"""fwgen completion: print the completion script of a shell."""

from __future__ import annotations

import click

from fwgen.cli.settings import CONTEXT, common_options


@click.command(context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(fwgen completion bash)"
    zsh:   eval "$(fwgen completion zsh)"
    fish:  fwgen completion fish | source
    """
    from click.shell_completion import get_completion_class

    from fwgen.cli.main import cli

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, "fwgen", "_FWGEN_COMPLETE").source())
