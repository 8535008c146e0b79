"""What is refused: the same packages through the host's checks and the target's."""

from __future__ import annotations

import hashlib
import random
import struct
import subprocess
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from devices import build_host
from packages import DEVICE, make_package

from fwgen.package import format
from fwgen.package.check import whole
from fwgen.package.faults import Fault
from fwgen.package.signing import verifier
from fwgen.package.verify import Device, verify

Target = Callable[[Sequence[bytes]], list[Fault]]
PACKAGE = make_package("one", seed=1, weights=900)


def run_target(program: Path, packages: Sequence[bytes], oldest: int, *key: str) -> list[Fault]:
    data = b"".join(struct.pack("<II", oldest, len(p)) + p for p in packages)
    result = subprocess.run(
        [str(program), *key], input=data, capture_output=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr.decode()[-3000:]
    found = [Fault(int(line)) for line in result.stdout.split()]
    assert len(found) == len(packages)
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_host(tmp_path_factory.mktemp("verify"), "verify")


def compare(
    program: Path, packages: Sequence[bytes], device: Device = DEVICE, *key: str
) -> list[Fault]:
    """Both sides' answers, which must be equal."""
    target = run_target(program, packages, device.oldest, *key)
    host = [verify(package, device) for package in packages]
    assert target == host
    return host


def resealed(package: bytes, change: Callable[[bytearray], None]) -> bytes:
    """A package with changed contents whose checksums are right again."""
    data = bytearray(package)
    change(data)
    payload = bytes(data[format.HEADER_SIZE :])
    data[128:160] = hashlib.sha256(payload).digest()
    struct.pack_into("<I", data, 160, zlib.crc32(payload))
    struct.pack_into("<I", data, 508, zlib.crc32(bytes(data[:508])))
    return bytes(data)


def test_a_good_package_is_good(program: Path) -> None:
    assert compare(program, [PACKAGE]) == [Fault.GOOD]


def test_any_byte_changed_is_refused(program: Path) -> None:
    rng = random.Random(1)
    packages = []
    for at in range(len(PACKAGE)):
        data = bytearray(PACKAGE)
        data[at] ^= 1 << rng.randrange(8)
        packages.append(bytes(data))
    found = compare(program, packages)
    assert Fault.GOOD not in found
    assert found.count(Fault.CRC) == len(PACKAGE) - format.HEADER_SIZE
    assert all(whole(package) is not Fault.GOOD for package in packages)


def test_each_field_has_its_fault(program: Path) -> None:
    cases = {
        Fault.BOARD: make_package(board="other"),
        Fault.ACCELERATOR: make_package(accelerator="nvdla/nv_large"),
        Fault.LAYOUT: make_package(layout_hash=b"12345678"),
        Fault.KERNEL: make_package(kernels=1 << 5),
        Fault.LENGTH: make_package(weights=16 * 1024),
        Fault.VARIANT: make_package(variants=(format.Variant(0x40000000, 1024),)),
        Fault.VERSION: make_package(version=4),
        Fault.EMPTY: b"\xff" * 2000,
    }
    newer = replace(DEVICE, oldest=5)
    for fault, package in cases.items():
        device = newer if fault is Fault.VERSION else DEVICE
        assert compare(program, [package], device) == [fault]
    assert compare(program, [make_package(version=5)], newer) == [Fault.GOOD]


def test_a_file_that_is_longer_or_shorter_than_it_says() -> None:
    for data in (PACKAGE + b"\0", PACKAGE[:-1], PACKAGE[:600]):
        assert verify(data, DEVICE) is Fault.LENGTH
        assert whole(data) is Fault.LENGTH
    assert verify(PACKAGE[:511], DEVICE) is Fault.EMPTY


def test_tables_that_point_astray(program: Path) -> None:
    """Whole packages, checksums right, with single numbers replaced: nobody reads outside."""
    rng = random.Random(2)
    table = struct.unpack_from("<I", PACKAGE, 180)[0]
    test = struct.unpack_from("<I", PACKAGE, 168)[0]
    interesting = [0, 1, 3, 4, 511, 512, len(PACKAGE) - 4, len(PACKAGE), 0x7FFFFFFF, 0x80000000]
    interesting += [0xFFFFFFFC, 0xFFFFFFFF, 0x21800000, 0x2180FFC0, 0x2180FFFF, 0x21810000]
    packages = []
    places = [*range(164, 192, 4), *range(table, table + 152, 4), test]
    for place in places:
        for value in [*interesting, rng.getrandbits(32)]:
            packages.append(
                resealed(PACKAGE, lambda d, p=place, v=value: struct.pack_into("<I", d, p, v))
            )
    for _ in range(300):

        def change(data: bytearray) -> None:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(160, len(data))] = rng.randrange(256)

        packages.append(resealed(PACKAGE, change))
    found = compare(program, packages)
    for fault in (Fault.TABLE, Fault.LIMIT, Fault.VARIANT, Fault.KERNEL, Fault.GOOD):
        assert fault in found


def test_signatures(tmp_path_factory: pytest.TempPathFactory) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    program = build_host(tmp_path_factory.mktemp("signed"), "verify", "FWGEN_SIGNED_UPDATE=1")
    rng = random.Random(3)
    owner, stranger = (
        ed25519.Ed25519PrivateKey.from_private_bytes(rng.randbytes(32)) for _ in range(2)
    )
    public = owner.public_key().public_bytes_raw()

    def signed(key: object, package: bytes = PACKAGE) -> bytes:
        header = format.decode_header(package)
        signature = key.sign(header.signed_part())  # type: ignore[attr-defined]
        return replace(header, signature=signature).encode() + package[format.HEADER_SIZE :]

    good = signed(owner)
    moved = bytearray(good)
    moved[20] ^= 1  # the version, which the signature covers
    struct.pack_into("<I", moved, 508, zlib.crc32(bytes(moved[:508])))
    swapped = (
        good[: format.HEADER_SIZE]
        + signed(owner, make_package("two", seed=9, weights=900))[format.HEADER_SIZE :]
    )
    device = replace(DEVICE, verifier=verifier(public))
    packages = [good, PACKAGE, signed(stranger), bytes(moved), swapped]
    assert compare(program, packages, device, public.hex()) == [
        Fault.GOOD,
        Fault.UNSIGNED,
        Fault.SIGNATURE,
        Fault.SIGNATURE,
        Fault.CRC,
    ]
    # A device without a key takes signed packages too.
    assert verify(good, DEVICE) is Fault.GOOD
