"""Entry point of `fwgen`: finds the verb, runs it, turns exceptions into exit codes.

A verb's module is imported when it is used, so `fwgen --help` and completion
stay fast.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from fwgen import __version__
from fwgen.cli import errors, settings
from fwgen.errors import ExitCode, FwgenError

# Verb -> (module, attribute, the line that `fwgen --help` shows).
VERBS = {
    "build": ("fwgen.cli.build", "build", "Turn a compiled model into firmware for a board."),
    "run": ("fwgen.cli.run", "run", "Run firmware in the emulator and compare its outputs."),
    "test": ("fwgen.cli.test", "test", "Run a project's tests on its boards in the emulator."),
    "init": ("fwgen.cli.init", "init", "Start a project with tests and files for CI systems."),
    "new": ("fwgen.cli.new", "new", "Start a project: an application around a model."),
    "inspect": ("fwgen.cli.inspect", "inspect", "Show a model, its program or its layout."),
    "check": ("fwgen.cli.check", "check", "Say what of a model a board can run, and why not."),
    "boards": ("fwgen.cli.boards", "boards", "List boards, show one, print the schema."),
    "export": ("fwgen.cli.export", "export", "Write sources that build without fwgen."),
    "size": ("fwgen.cli.size", "size", "Show where the bytes of an image went."),
    "report": ("fwgen.cli.report", "report", "Write a page about a build: memory, sizes, stacks."),
    "sbom": ("fwgen.cli.sbom", "sbom", "Print the bill of materials of an image (CycloneDX)."),
    "pack": ("fwgen.cli.pack", "pack", "Pack a model for the slots of a device."),
    "flash": ("fwgen.cli.flash", "flash", "Load an image into a board and start it."),
    "update": ("fwgen.cli.update", "update", "Send a model package to a running device."),
    "nvmem": ("fwgen.cli.nvmem", "nvmem", "Settings, slots and partitions of a device."),
    "doctor": ("fwgen.cli.doctor", "doctor", "Check the tools that fwgen needs."),
    "monitor": ("fwgen.cli.monitor", "monitor", "Show the console of a board."),
    "replay": ("fwgen.cli.replay", "replay", "Play a register trace on the emulated accelerator."),
    "demo": ("fwgen.cli.demo", "demo", "Build and run the digits example."),
    "completion": ("fwgen.cli.completion", "completion", "Print the shell's completion script."),
    "version": ("fwgen.cli.version", "version", "Print the versions of fwgen and its tools."),
}


class Verbs(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, attribute, _ = VERBS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        from fwgen.cli.manual import attach

        return attach(command, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, _, text) in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in VERBS:
            import difflib

            near = difflib.get_close_matches(name, VERBS, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"Verbs: {', '.join(VERBS)}."
            ctx.fail(f"no such verb '{name}'. {hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs, context_settings=settings.CONTEXT)
@click.version_option(__version__, "--version", prog_name="fwgen", message="%(prog)s %(version)s")
@settings.common_options
@settings.json_option
def cli() -> None:
    """Turn compiled neural networks into statically allocated FreeRTOS firmware."""


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    # An exception instead of sudden death: running emulators are ended on the way out.
    raise SystemExit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    Args:
        arguments: without the program's name.
    """
    settings.reset()
    if "--json" in arguments:
        settings.current().as_json = True
    try:
        result = cli.main(args=list(arguments), prog_name="fwgen", standalone_mode=False)
        # Flush here, where a closed pipe can still be handled.
        sys.stdout.flush()
        return result if isinstance(result, int) else int(ExitCode.OK)
    except FwgenError as error:
        return errors.report(error)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return int(ExitCode.INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return int(ExitCode.USAGE)
    except click.ClickException as error:
        return errors.report_usage(error)
    except BrokenPipeError:
        # Whoever read our output has seen enough. Keep the interpreter from
        # complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except Exception as error:
        return errors.report_bug(error)


def main() -> NoReturn:
    """The `fwgen` program."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
