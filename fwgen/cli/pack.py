"""fwgen pack: a model alone, for the slots of a device."""

from __future__ import annotations

from pathlib import Path

import click

from fwgen.cli import settings
from fwgen.cli.files import named_files
from fwgen.cli.output import print_json, print_line, size_text
from fwgen.errors import UsageError


@click.command(context_settings=settings.CONTEXT)
@click.argument("model", metavar="[MODEL]", required=False, type=click.Path(path_type=Path))
@click.option("-b", "--board", help="Board whose profile has model slots, or a profile file.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Default: the model's name with .pkg."
)
@click.option("--name", help="Name of the model on the device; default: the file's.")
@click.option(
    "--model-version",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Counter that devices with --anti-rollback compare.",
)
@click.option(
    "--test-input",
    metavar="NAME=FILE",
    multiple=True,
    callback=named_files,
    help="Input of the self-test, as `fwgen run --input` takes it.",
)
@click.option(
    "--test-output",
    metavar="NAME=FILE",
    multiple=True,
    callback=named_files,
    help="What that must give, to the last byte: the device confirms the model by itself, or "
    "goes back.",
)
@settings.pipeline_option
@click.option("--key", type=click.Path(path_type=Path), help="Private key (PEM) to sign with.")
@click.option(
    "--public-key",
    type=click.Path(path_type=Path),
    help="Only print the public key of a private one, for `fwgen build --update-key`.",
)
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    help="Only write a new private key, and print its public key.",
)
@settings.common_options
@settings.json_option
def pack(
    model: Path | None,
    board: str | None,
    output: Path | None,
    name: str | None,
    model_version: int,
    test_input: dict[str, Path],
    test_output: dict[str, Path],
    pipeline: str,
    key: Path | None,
    public_key: Path | None,
    new_key: Path | None,
) -> None:
    """Pack a compiled model for the slots of a board.

    `fwgen update` sends the package to a running device, which checks it, tries it and
    goes back to what it ran when it is no good (docs/update.md).
    """
    if public_key is not None or new_key is not None:
        from fwgen.package.signing import load_signer, make_key

        public = make_key(new_key) if new_key is not None else load_signer(public_key or Path())[1]
        if settings.current().as_json:
            print_json({"public_key": public.hex()})
        else:
            print_line(public.hex())
        return
    if model is None:
        raise click.UsageError("Missing argument 'MODEL'.")
    if board is None:
        raise click.UsageError("Missing option '-b' / '--board'.")
    if bool(test_input) != bool(test_output):
        raise UsageError(
            "a self-test has inputs and outputs",
            where="command line",
            expected="--test-input and --test-output, or neither",
        )
    from fwgen.board.profile import load_board
    from fwgen.package.pack import PackOptions, SelfTest, pack_model, write_package
    from fwgen.package.signing import load_signer

    package = pack_model(
        model,
        load_board(board),
        PackOptions(
            name=name,
            version=model_version,
            pipeline_depth=int(pipeline),
            self_test=SelfTest(test_input, test_output) if test_input else None,
            sign=load_signer(key)[0] if key is not None else None,
        ),
    )
    target = output if output is not None else Path(f"{package.header.name}.pkg")
    write_package(package, target)
    if settings.current().as_json:
        header = package.header
        print_json(
            {
                "file": target,
                "bytes": len(package.data),
                "name": header.name,
                "board": header.board,
                "accelerator": header.accelerator,
                "layout_hash": header.layout_hash.hex(),
                "version": header.version,
                "sha256": header.digest.hex(),
                "self_test": header.self_test != 0,
                "signed": header.signature is not None,
            }
        )
        return
    tested = "with a self-test" if package.header.self_test else "without a self-test"
    signed = "signed" if package.header.signature is not None else "not signed"
    print_line(f"{target}: {size_text(len(package.data))} for {board}, {tested}, {signed}")
