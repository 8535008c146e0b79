"""Our senders against lrzsz's receivers, and the header for bootm against its published layout."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
import zlib
from pathlib import Path

import pytest
from noisy_line import Noise, NoisyLine

from fwgen.build.uimage import legacy_image
from fwgen.flash.kermit import checksum, packet, quoted
from fwgen.flash.line import Line, TransferError
from fwgen.flash.xmodem import Patience, send_xmodem, send_ymodem
from fwgen.machine.transport import open_transport

pytestmark = pytest.mark.waits


def receive(program: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """One of lrzsz's receivers, on pipes."""
    found = shutil.which(program) or shutil.which(f"l{program}")
    if found is None:
        pytest.skip(f"{program} not found: it is in Debian's package lrzsz")
    return subprocess.Popen(
        [found, *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
    )


@pytest.mark.parametrize(
    ("protocol", "size", "damage"),
    [
        ("ymodem", 1, 0.0),
        ("ymodem", 1024, 0.0),
        ("ymodem", 20_000, 0.0003),
        ("xmodem", 20_000, 0.0003),  # rx begins after 14 s
    ],
)
def test_lrzsz_gets_the_file(protocol: str, size: int, damage: float, tmp_path: Path) -> None:
    data = random.Random(size).randbytes(size)
    if protocol == "ymodem":
        peer = receive("rb", tmp_path, "-y", "-q")
    else:
        peer = receive("rx", tmp_path, "-y", "-q", "-c", "image.bin")
    assert peer.stdin is not None and peer.stdout is not None
    try:
        noise = Noise(damage=damage)
        with NoisyLine(peer.stdin.fileno(), peer.stdout.fileno(), noise) as proxy:
            line = Line(open_transport(proxy.address), time.monotonic() + 100)
            seen: list[int] = []
            patience = Patience(answer_seconds=12.0)
            if protocol == "ymodem":
                send_ymodem(line, "image.bin", data, lambda done, _: seen.append(done), patience)
            else:
                send_xmodem(line, data, lambda done, _: seen.append(done), patience)
            assert seen == sorted(seen) and seen[-1] == size
            line.until_quiet(0.2, 1.0)
            peer.stdin.close()
            peer.wait(20)
            line.close()
        got = (tmp_path / "image.bin").read_bytes()
        assert got[:size] == data
        assert len(got) == size if protocol == "ymodem" else not got[size:].strip(b"\x1a")
    finally:
        peer.kill()
        peer.wait(10)
        peer.stdout.close()


class Script:
    """A device that says a piece at the begin, and one after each that it gets."""

    name = "script"

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces[1:])
        self._said = pieces[0]
        self.got: list[bytes] = []

    def send(self, data: bytes, deadline: float) -> bool:
        self.got.append(data)
        self._said += self._pieces.pop(0) if self._pieces else b""
        return True

    def receive(self, deadline: float) -> bytes:
        if not self._said:
            time.sleep(max(0.0, deadline - time.monotonic()))
        said, self._said = self._said, b""
        return said

    def close(self) -> None:
        pass


def ignore(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def test_a_receiver_that_gives_up() -> None:
    line = Line(Script(b"C", b"\x18\x18\x18"), time.monotonic() + 20)
    with pytest.raises(TransferError, match="cancelled"):
        send_xmodem(line, bytes(5000), ignore, Patience(2.0, 0.5, 2))


def test_a_receiver_that_says_nothing() -> None:
    script = Script(b"C")
    with pytest.raises(TransferError, match="block 1 in 3 attempts"):
        send_xmodem(Line(script, time.monotonic() + 20), bytes(5000), ignore, Patience(2.0, 0.2, 2))
    assert len(script.got) == 3 and len(set(script.got)) == 1


def test_a_receiver_that_wants_sums() -> None:
    """NAK at the begin asks for an 8-bit sum: of 128 bytes 0x1a after 3, it is worked out here."""
    script = Script(b"\x15", b"\x06", b"\x15", b"\x06")
    send_xmodem(Line(script, time.monotonic() + 20), b"\x01\x02\x03", ignore, Patience(2.0, 0.5, 2))
    body = b"\x01\x02\x03" + b"\x1a" * 125
    assert script.got == [b"\x01\x01\xfe" + body + bytes([(6 + 125 * 26) % 256]), b"\x04", b"\x04"]


def test_kermit_by_hand() -> None:
    """A packet of the Kermit Protocol Manual's form, its check worked out by hand.

    Characters of `# N3`: 35 + 32 + 78 + 51 = 196; 196 + (196 >> 6 & 3) = 199; & 63 = 7; + 32 = 39.
    """
    assert checksum(b"# N3") == ord("'")
    # Length 3, sequence 0, type B: 35 + 32 + 66 = 133, + 2 = 135, & 63 = 7, + 32 = 39.
    assert packet(0, "B", b"") == b"\x01# B'\r"
    assert quoted(0) == b"#@" and quoted(ord("#")) == b"##" and quoted(0x7F) == b"#?"
    assert quoted(0x81) == b"#\xc1" and quoted(ord("#") | 0x80) == b"#\xa3" and quoted(65) == b"A"


def test_header_for_bootm() -> None:
    """Offsets and values of U-Boot's include/image.h, read back one by one."""
    data = random.Random(5).randbytes(1000)
    image = legacy_image(data, 0x0200_8000, 0x0200_8040, "a name that is longer than its 32 bytes")
    assert image[:4] == bytes.fromhex("27051956")
    fields = [int.from_bytes(image[i : i + 4], "big") for i in range(0, 28, 4)]
    assert fields[2:6] == [0, 1000, 0x0200_8000, 0x0200_8040]
    assert fields[6] == zlib.crc32(data)
    assert fields[1] == zlib.crc32(image[:4] + bytes(4) + image[8:64])
    assert list(image[28:32]) == [5, 2, 2, 0]  # Linux, Arm, kernel, not compressed
    assert image[32:64] == b"a name that is longer than its 3"
    assert image[64:] == data


def test_file_knows_the_header(tmp_path: Path) -> None:
    if shutil.which("file") is None:
        pytest.skip("file not found")
    (tmp_path / "image").write_bytes(legacy_image(bytes(100), 0x0200_8000, 0x0200_8040, "fwgen x"))
    command = ["file", "-b", str(tmp_path / "image")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.startswith("u-boot legacy uImage, fwgen x, Linux/ARM, OS Kernel Image")
    assert "100 bytes" in text and "Load Address: 0X2008000, Entry Point: 0X2008040" in text
