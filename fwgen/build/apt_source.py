"""Fetches one upstream archive of a Debian source package with apt's own tools.

Needs no rights and changes nothing of the system: a private sources file names
the same mirror that the machine uses already, and all of apt's state lies in a
private directory. The mirror's index is verified by apt, the archive by its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fwgen.errors import TaskError, UsageError

DEBIAN_SUITES = frozenset(
    "buster bullseye bookworm trixie forky duke sid "
    "oldoldstable oldstable stable testing unstable".split()
)
FETCH_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class AptEntry:
    """A mirror of the Debian archive that the machine is configured to use.

    Attributes:
        uri: base of the archive.
        options: apt's bracketed options, without the brackets ("signed-by=...").
    """

    uri: str
    options: str


def debian_entries(apt_directory: Path = Path("/etc/apt")) -> list[AptEntry]:
    """Mirrors of the Debian archive in the machine's own configuration, without repeats."""
    files = [apt_directory / "sources.list"]
    parts = apt_directory / "sources.list.d"
    if parts.is_dir():
        files += sorted(parts.iterdir())
    entries: dict[str, AptEntry] = {}
    for file in files:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if file.suffix == ".sources":
            found = _deb822(text)
        elif file.suffix == ".list":
            found = _one_line(text)
        else:
            continue
        for entry in found:
            entries.setdefault(entry.uri.rstrip("/"), entry)
    return list(entries.values())


def _one_line(text: str) -> Iterator[AptEntry]:
    """Entries of the form `deb [options] uri suite components...`."""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        kind, _, rest = line.partition(" ")
        if kind not in ("deb", "deb-src"):
            continue
        rest = rest.strip()
        options = ""
        if rest.startswith("["):
            options, _, rest = rest[1:].partition("]")
        fields = rest.split()
        if len(fields) >= 3 and fields[1] in DEBIAN_SUITES and "main" in fields[2:]:
            kept = [o for o in options.split() if not o.startswith("arch=")]
            yield AptEntry(fields[0], " ".join(kept))


def _deb822(text: str) -> Iterator[AptEntry]:
    """Entries of the stanza form (`URIs: ...`)."""
    for stanza in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in (" ", "\t") and name:
                fields[name] += "\n" + line.strip()
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        suites = fields.get("suites", "").split()
        if not DEBIAN_SUITES.intersection(suites):
            continue
        if "main" not in fields.get("components", "").split():
            continue
        # A key that is written out in the stanza cannot be given in the other form.
        signed_by = fields.get("signed-by", "")
        options = f"signed-by={signed_by}" if signed_by.startswith("/") else ""
        for uri in fields.get("uris", "").split():
            yield AptEntry(uri, options)


def fetch_archive(
    package: str,
    suite: str,
    archive: str,
    sha256: str,
    destination: Path,
    progress: Callable[[str], None],
    apt_directory: Path = Path("/etc/apt"),
) -> None:
    """Fetch `archive` of a source package to the file `destination`.

    Args:
        package: name of the source package.
        suite: Debian suite that holds it, whatever suite the machine runs.
        archive: name of the upstream archive.
        sha256: of the archive, hexadecimal.
        destination: file to write; its directory exists.
        progress: gets one line per stage.
        apt_directory: where the machine's configuration lies.

    Raises:
        UsageError: no apt, no Debian mirror configured, or it cannot be reached.
        TaskError: the archive has another checksum.
    """
    if shutil.which("apt-get") is None:
        raise UsageError("apt-get not found", where="PATH", expected="a Debian system")
    entries = debian_entries(apt_directory)
    if not entries:
        raise UsageError(
            "no Debian mirror configured", where=str(apt_directory), expected="a Debian system"
        )
    with TemporaryDirectory(prefix="fwgen-apt-") as name:
        root = Path(name)
        for part in ("lists/partial", "cache/archives/partial", "log"):
            (root / part).mkdir(parents=True)
        lines = [
            f"deb-src [{e.options}] {e.uri} {suite} main"
            if e.options
            else f"deb-src {e.uri} {suite} main"
            for e in entries
        ]
        (root / "sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
        options = _apt_options(root)
        progress(f"reading the package index of {suite} with apt-get")
        _apt(["apt-get", *options, "update"], root)
        progress(f"fetching {archive}")
        source = ["source", "--download-only", "--tar-only", package]
        _apt(["apt-get", *options, *source], root)
        fetched = root / archive
        if not fetched.is_file():
            raise UsageError(
                f"the source package {package} of {suite} has no {archive}",
                where="apt-get source",
                expected="the version that this fwgen knows",
            )
        digest = hashlib.sha256(fetched.read_bytes()).hexdigest()
        if digest != sha256:
            raise TaskError(
                f"wrong checksum of {archive}: {digest}",
                where="apt-get source",
                expected=sha256,
            )
        temporary = destination.with_name(f"{destination.name}.{os.getpid()}")
        shutil.copyfile(fetched, temporary)
        os.replace(temporary, destination)


def _apt_options(root: Path) -> list[str]:
    settings = {
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "Dir::Log": root / "log",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
        "APT::Update::Error-Mode": "any",
    }
    options = ["-q"]
    for key, value in settings.items():
        options += ["-o", f"{key}={value}"]
    return options


def _apt(command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"apt-get did not finish in {FETCH_TIMEOUT_S} s", where=" ".join(command[-2:])
        ) from error
    if done.returncode:
        output = (done.stderr + done.stdout).splitlines()
        reasons = [line for line in output if line.startswith(("E:", "W:", "Err:"))]
        raise UsageError(
            "apt-get failed: " + (reasons[0] if reasons else f"exit code {done.returncode}"),
            where="apt-get " + " ".join(command[command.index("-q") :][-2:]),
            expected="access to the Debian mirror of this machine",
        )
