"""fwgen nvmem: settings, slots and partitions of a running device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fwgen.cli import settings
from fwgen.cli.output import print_json, print_line, print_table, size_text
from fwgen.cli.port import open_link, port_options
from fwgen.errors import UsageError

if TYPE_CHECKING:
    from fwgen.machine.link import Link


class _OnDevice(click.Group):
    """A group that needs a port, unless it is asked for the help of one of its verbs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        needed = [parameter for parameter in self.params if parameter.required]
        asked = not {"-h", "--help"}.isdisjoint(args)
        for parameter in needed:
            parameter.required = not asked
        try:
            return super().parse_args(ctx, args)
        finally:
            for parameter in needed:
                parameter.required = True


@click.group(cls=_OnDevice, context_settings=settings.CONTEXT)
@port_options
@settings.common_options
@settings.json_option
@click.pass_context
def nvmem(context: click.Context, port: str, baud: int) -> None:
    """Look at and change what a running device keeps: settings, model slots, partitions."""
    context.obj = (port, baud)


@contextmanager
def _device(context: click.Context) -> Iterator[Link]:
    port, baud = context.obj
    link = open_link(port, baud)
    try:
        link.info()
        yield link
    finally:
        link.transport.close()


@nvmem.command("list")
@settings.common_options
@settings.json_option
@click.pass_context
def list_(context: click.Context) -> None:
    """List partitions and settings."""
    from fwgen.machine import slots

    with _device(context) as link:
        info = slots.partitions(link)
        has_settings = any(part.kind == "settings" for part in info.partitions)
        keys = slots.keys(link) if has_settings else {}
    if settings.current().as_json:
        print_json({**_plain_partitions(info), "settings": keys})
        return
    rows = [
        (part.name, part.kind, f"0x{part.offset:08x}", size_text(part.size))
        for part in info.partitions
    ]
    print_table(("PARTITION", "KIND", "OFFSET", "SIZE"), rows, ("SIZE",))
    if keys:
        print_line()
        print_table(("SETTING", "BYTES"), sorted(keys.items()), ("BYTES",))


def _plain_partitions(info: object) -> dict[str, object]:
    from fwgen.cli.output import plain

    data = plain(info)
    assert isinstance(data, dict)
    return data


@nvmem.command()
@click.argument("key")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the bytes there.")
@settings.common_options
@settings.json_option
@click.pass_context
def get(context: click.Context, key: str, output: Path | None) -> None:
    """Print the value of a setting: as text, or as hex digits when it is none."""
    from fwgen.machine import slots

    with _device(context) as link:
        value = slots.get(link, key)
    if output is not None:
        try:
            output.write_bytes(value)
        except OSError as error:
            raise UsageError(f"cannot write: {error.strerror}", where=str(output)) from None
    elif settings.current().as_json:
        print_json({"key": key, "hex": value.hex(), "text": _text(value)})
    else:
        text = _text(value)
        print_line(text if text is not None else f"hex:{value.hex()}")


def _text(value: bytes) -> str | None:
    text = value.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else None


@nvmem.command("set")
@click.argument("key")
@click.argument("value")
@settings.common_options
@click.pass_context
def set_(context: click.Context, key: str, value: str) -> None:
    """Set a value: text, hex:DIGITS, or @FILE for the bytes of a file."""
    from fwgen.machine import slots

    data = _value(value)
    with _device(context) as link:
        slots.put(link, key, data)


def _value(text: str) -> bytes:
    if text.startswith("@"):
        try:
            return Path(text[1:]).read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read: {error.strerror}", where=text[1:]) from None
    if text.startswith("hex:"):
        try:
            return bytes.fromhex(text[4:])
        except ValueError:
            raise UsageError(
                "these are no hex digits", where=text, expected="two digits a byte"
            ) from None
    return text.encode()


@nvmem.command()
@click.argument("key")
@settings.common_options
@click.pass_context
def delete(context: click.Context, key: str) -> None:
    """Forget a setting."""
    from fwgen.machine import slots

    with _device(context) as link:
        slots.delete(link, key)


@nvmem.command()
@settings.common_options
@settings.json_option
@click.pass_context
def slots(context: click.Context) -> None:
    """Show what the model slots hold, and which one runs."""
    from fwgen.machine import slots as client
    from fwgen.package.faults import Fault, fault_words

    with _device(context) as link:
        info = client.slots(link)
    if settings.current().as_json:
        print_json(info)
        return
    rows: list[tuple[object, ...]] = []
    for slot in info.slots:
        marks = [
            word
            for word, index in (
                ("running", info.running),
                ("confirmed", info.confirmed),
                ("on trial", info.trial),
            )
            if index == slot.index
        ]
        if slot.fault:
            empty = slot.fault == Fault.EMPTY
            state = "no package" if empty else fault_words(slot.fault)
            rows.append((slot.index, None, None, None, state))
        else:
            rows.append((slot.index, slot.name, slot.version, slot.length, ", ".join(marks)))
    print_table(("SLOT", "MODEL", "VERSION", "BYTES", "STATE"), rows, ("VERSION", "BYTES"))
    if info.running is None:
        print_line("the model of the image runs")
    if info.fault:
        print_line(f"the last trial was given up: {fault_words(info.fault)}")


@nvmem.command()
@click.argument("partition")
@settings.common_options
@click.pass_context
def erase(context: click.Context, partition: str) -> None:
    """Erase a partition: the settings, a raw one, or a slot that is not in use."""
    from fwgen.machine import slots

    with _device(context) as link:
        size = slots.erase_partition(link, partition)
    print_line(f"{partition}: {size_text(size)} erased")


@nvmem.command()
@settings.common_options
@click.pass_context
def confirm(context: click.Context) -> None:
    """Confirm the model on trial that runs."""
    from fwgen.machine import slots

    with _device(context) as link:
        slots.confirm(link)
