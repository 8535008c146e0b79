"""Ed25519 signatures of packages (RFC 8032), made with the `cryptography` package.

It is an extra: pip install 'fwgen[signing]'. The firmware verifies with code of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fwgen.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Signer = Callable[[bytes], bytes]


def load_signer(path: Path) -> tuple[Signer, bytes]:
    """A private key's signing function, and its public key of 32 bytes.

    Args:
        path: PEM file, PKCS #8 without password, as `openssl genpkey -algorithm ed25519`
            writes it.

    Raises:
        UsageError: no such file, no such key, or the extra is not installed.
    """
    key = _read_key(path)
    return key.sign, key.public_key().public_bytes_raw()


def make_key(path: Path) -> bytes:
    """Write a new private key to a new file; returns the public key.

    Raises:
        UsageError: the file exists or cannot be written, or the extra is not installed.
    """
    serialization, ed25519 = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(text)
    except OSError as error:
        raise UsageError(
            f"cannot write the key: {error.strerror}", where=str(path), expected="a new file"
        ) from None
    return cast(bytes, key.public_key().public_bytes_raw())


def verifier(public_key: bytes) -> Callable[[bytes, bytes], bool]:
    """A function that checks (signature, message) with a public key of 32 bytes."""
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    key = ed25519.Ed25519PublicKey.from_public_bytes(public_key)

    def verify(signature: bytes, message: bytes) -> bool:
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    return verify


def _library() -> tuple[Any, Any]:
    """The modules `serialization` and `ed25519`, where they are installed."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise UsageError(
            "signatures need the package 'cryptography'",
            hints=("Install it: pip install 'fwgen[signing]'.",),
        ) from None
    return serialization, ed25519


def _read_key(path: Path) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read the key: {error.strerror}", where=str(path), expected="a PEM file"
        ) from None
    try:
        key = serialization.load_pem_private_key(data, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(
            "this is no Ed25519 private key",
            where=str(path),
            expected="PEM, PKCS #8, without password",
            hints=("Make one: fwgen pack --new-key FILE.",),
        )
    return cast("Ed25519PrivateKey", key)
