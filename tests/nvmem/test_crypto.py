"""SHA-256, SHA-512 and Ed25519 of the runtime against published vectors and a library.

Vectors: NIST's examples for FIPS 180-4, RFC 8032 section 7.1.
"""

from __future__ import annotations

import ctypes
import hashlib
import random
import shutil
import subprocess
from pathlib import Path

import pytest

RTOS = Path(__file__).resolve().parents[2] / "rtos"

# RFC 8032, 7.1: public key, message, signature.
RFC8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
        "6bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d"
        "8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6"
        "594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
# 7.1, "TEST SHA(abc)": the message is the SHA-512 of "abc".
RFC8032_ABC = (
    "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
    "454d4423643ce80e2a9ac94fa54ca49f",
    "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
    "3dca179c138ac17ad9bef1177331a704",
)
ORDER = 2**252 + 27742317777372353535851937790883648493

# NIST, examples with intermediate values for FIPS 180-4; the empty message and a million a's
# are NIST's test vectors for long and short messages.
SHA256 = {
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    b"a" * 1_000_000: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
}
SHA512 = {
    b"abc": (
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
    b"a" * 1_000_000: (
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
        "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
    ),
}


class Library:
    """The functions of the runtime."""

    def __init__(self, path: Path) -> None:
        self.loaded = ctypes.CDLL(str(path))
        self.loaded.fwgen_ed25519_verify.restype = ctypes.c_bool
        self.loaded.fwgen_ed25519_verify.argtypes = [
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
        ]

    def verify(self, signature: bytes, key: bytes, message: bytes) -> bool:
        assert len(signature) == 64 and len(key) == 32
        found: bool = self.loaded.fwgen_ed25519_verify(signature, key, message, len(message))
        return found

    def digest(self, bits: int, pieces: list[bytes]) -> bytes:
        state = ctypes.create_string_buffer(512)
        out = ctypes.create_string_buffer(bits // 8)
        getattr(self.loaded, f"fwgen_sha{bits}_start")(state)
        for piece in pieces:
            getattr(self.loaded, f"fwgen_sha{bits}_take")(
                state, ctypes.c_char_p(piece), ctypes.c_size_t(len(piece))
            )
        getattr(self.loaded, f"fwgen_sha{bits}_end")(state, out)
        return out.raw


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found: the runtime's host tests need it")
    path = tmp_path_factory.mktemp("crypto") / "crypto.so"
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    flags += ["-DFWGEN_NVMEM=1", "-DFWGEN_SIGNED_UPDATE=1", f"-I{RTOS / 'include'}"]
    flags += [f"-I{RTOS.parent / 'tests/rtos/host'}"]
    names = ("sha256", "sha512", "field25519", "ed25519")
    sources = [str(RTOS / f"nvmem/{name}.c") for name in names]
    subprocess.run(["gcc", *flags, *sources, "-o", str(path)], check=True, timeout=120)
    return Library(path)


@pytest.mark.parametrize("bits", [256, 512])
def test_published_digests(library: Library, bits: int) -> None:
    for message, digest in (SHA256 if bits == 256 else SHA512).items():
        assert library.digest(bits, [message]).hex() == digest


@pytest.mark.parametrize("bits", [256, 512])
def test_digests_of_all_lengths_and_pieces(library: Library, bits: int) -> None:
    rng = random.Random(1)
    for length in range(300):
        data = rng.randbytes(length)
        cut = rng.randrange(length + 1)
        expected = hashlib.new(f"sha{bits}", data).digest()
        assert library.digest(bits, [data[:cut], data[cut:]]) == expected


def test_chains_of_digests(library: Library) -> None:
    """As NIST's Monte Carlo tests: each digest of the three before, against the host's library."""
    for bits in (256, 512):
        seed = bytes(range(bits // 8))
        chains = []
        for digest in (
            lambda data, bits=bits: library.digest(bits, [data]),
            lambda data, bits=bits: hashlib.new(f"sha{bits}", data).digest(),
        ):
            last = [seed] * 3
            for _ in range(1000):
                last = [*last[1:], digest(b"".join(last))]
            chains.append(last[-1])
        assert chains[0] == chains[1]


VECTORS = [*RFC8032, RFC8032_ABC]


@pytest.mark.parametrize("vector", VECTORS, ids=["1", "2", "3", "SHA(abc)"])
def test_rfc_8032(library: Library, vector: tuple[str, str, str]) -> None:
    key, message, signature = (bytes.fromhex(text) for text in vector)
    assert library.verify(signature, key, message)
    for i in range(64):
        wrong = bytearray(signature)
        wrong[i] ^= 1 << (i % 8)
        assert not library.verify(bytes(wrong), key, message)
    for i in range(32):
        other = bytearray(key)
        other[i] ^= 1 << (i % 8)
        assert not library.verify(signature, bytes(other), message)
    assert not library.verify(signature, key, message + b"\0")
    # S + L is the same number modulo the order and must not be accepted.
    large = int.from_bytes(signature[32:], "little") + ORDER
    if large < 2**256:
        assert not library.verify(signature[:32] + large.to_bytes(32, "little"), key, message)


def test_against_a_library(library: Library) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    rng = random.Random(2)
    for length in [*range(0, 400, 7), 384]:
        secret = ed25519.Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        key = secret.public_key().public_bytes_raw()
        message = rng.randbytes(length)
        signature = secret.sign(message)
        assert library.verify(signature, key, message)
        assert not library.verify(signature, key, message + b"x")
        stranger = ed25519.Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        assert not library.verify(stranger.sign(message), key, message)


def test_keys_that_are_no_points(library: Library) -> None:
    """RFC 8032, 5.1.3: y is below p, and x exists; x = 0 has no odd one."""
    prime = 2**255 - 19
    signature = bytes.fromhex(RFC8032[0][2])
    for y in (prime, prime + 1, prime + 18):
        assert not library.verify(signature, y.to_bytes(32, "little"), b"")
    odd_zero = bytearray((1).to_bytes(32, "little"))
    odd_zero[31] |= 0x80
    assert not library.verify(signature, bytes(odd_zero), b"")


def test_numbers_at_the_edge_of_the_field(library: Library) -> None:
    """Field arithmetic with operands around 0, p and 2^256, against whole numbers."""
    prime = 2**255 - 19
    edge = [0, 1, 2, 18, 19, 37, 38, 39, prime - 1, prime, prime + 1, 2**255 - 1, 2**255]
    edge += [2 * prime - 1, 2 * prime, 2 * prime + 1, 2**256 - 39, 2**256 - 38, 2**256 - 1]
    rng = random.Random(3)
    edge += [rng.getrandbits(256) for _ in range(20)]
    result = ctypes.create_string_buffer(32)
    out = ctypes.create_string_buffer(32)
    operations = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
    }
    for name, expected in operations.items():
        function = getattr(library.loaded, f"fwgen_field_{name}")
        for a in edge:
            for b in edge:
                function(result, a.to_bytes(32, "little"), b.to_bytes(32, "little"))
                library.loaded.fwgen_field_bytes(out, result)
                got = int.from_bytes(out.raw, "little")
                assert got == expected(a, b) % prime, (name, a, b)
