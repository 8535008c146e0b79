"""Kernel trees: layouts, versions, what is missing; mirrors in apt's configuration."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from fwgen.build import freertos
from fwgen.build.apt_source import AptEntry, debian_entries, fetch_archive
from fwgen.build.freertos import Kernel, find_kernel, inspect_kernel, kernel_digest
from fwgen.errors import TaskError, UsageError


def fake_kernel(root: Path, version: str = "V11.1.0") -> Path:
    """The files that are looked at, in the layout of a kernel tree."""
    port = root / "portable" / "GCC" / "ARM_CM3"
    port.mkdir(parents=True)
    (root / "include").mkdir()
    for name in ("tasks.c", "list.c", "queue.c"):
        (root / name).write_text("/* */\n")
    (port / "port.c").write_text("/* */\n")
    (port / "portmacro.h").write_text("/* */\n")
    (root / "include" / "task.h").write_text(f'#define tskKERNEL_VERSION_NUMBER "{version}"\n')
    return root


@pytest.mark.parametrize("version", ["V9.0.0", "V10.6.2", "V11.1.0+"])
def test_versions(tmp_path: Path, version: str) -> None:
    assert inspect_kernel(fake_kernel(tmp_path / "k", version), "test").version == version


@pytest.mark.parametrize("version", ["V8.2.3", "V12.0.0", "next"])
def test_unsupported_versions(tmp_path: Path, version: str) -> None:
    with pytest.raises(UsageError, match="not supported"):
        inspect_kernel(fake_kernel(tmp_path / "k", version), "test")


@pytest.mark.parametrize("inside", ["", "Source", "FreeRTOS/Source"])
def test_layouts(tmp_path: Path, inside: str) -> None:
    root = tmp_path / inside
    root.mkdir(parents=True, exist_ok=True)
    kernel = inspect_kernel(fake_kernel(root / "."), "test")
    assert (kernel.root / "tasks.c").is_file()
    assert {"tasks.c", "include/task.h", "port/port.c"} <= kernel.files().keys()


def test_missing_port(tmp_path: Path) -> None:
    root = fake_kernel(tmp_path / "k")
    (root / "portable" / "GCC" / "ARM_CM3" / "port.c").unlink()
    with pytest.raises(UsageError, match=r"lacks portable/GCC/ARM_CM3/port\.c"):
        inspect_kernel(root, "test")


def test_no_kernel_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no FreeRTOS kernel in") as caught:
        inspect_kernel(tmp_path, "--freertos")
    assert any("FREERTOS_KERNEL_PATH" in hint for hint in caught.value.hints)


def test_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = fake_kernel(tmp_path / "given", "V10.0.0")
    environment = fake_kernel(tmp_path / "environment", "V11.0.0")
    fake_kernel(tmp_path / "cache" / freertos.CACHED_NAME, "V9.0.0")
    monkeypatch.setenv("FWGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FREERTOS_KERNEL_PATH", str(environment))
    assert find_kernel(given).version == "V10.0.0"
    assert find_kernel().version == "V11.0.0"
    monkeypatch.delenv("FREERTOS_KERNEL_PATH")
    assert find_kernel().version == "V9.0.0"


def test_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FWGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FREERTOS_KERNEL_PATH", raising=False)
    with pytest.raises(UsageError, match="cannot be fetched: apt-get not found") as caught:
        find_kernel()
    assert any("FREERTOS_KERNEL_PATH" in hint for hint in caught.value.hints)
    assert list((tmp_path / "cache").iterdir()) == []


def test_digest_follows_contents(tmp_path: Path) -> None:
    kernel = inspect_kernel(fake_kernel(tmp_path / "k"), "test")
    before = kernel_digest(kernel)
    (kernel.root / "list.c").write_text("/* changed */\n")
    assert kernel_digest(kernel) != before


def test_installed_kernel(kernel: Kernel) -> None:
    assert kernel.version.startswith(("V9", "V10", "V11"))
    assert "port/portmacro.h" in kernel.files()


ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/d.gpg] http://one.example/debian bookworm main contrib
deb http://one.example/debian-security bookworm-security main
deb http://vendor.example/packages nodistro main
deb-src http://two.example/debian/ trixie main
deb http://three.example/debian sid contrib
"""

STANZAS = """\
Types: deb
# a comment
URIs: http://four.example/debian
  http://five.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/d.gpg

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: http://vendor.example/other
Suites: stable-vendor
Components: main

Types: deb
URIs: http://six.example/debian
Suites: sid
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
"""


def test_mirrors_of_both_forms(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(ONE_LINE)
    (tmp_path / "sources.list.d" / "debian.sources").write_text(STANZAS)
    (tmp_path / "sources.list.d" / "old.sources.save").write_text(STANZAS)
    assert debian_entries(tmp_path) == [
        AptEntry("http://one.example/debian", "signed-by=/usr/share/keyrings/d.gpg"),
        AptEntry("http://two.example/debian/", ""),
        AptEntry("http://four.example/debian", "signed-by=/usr/share/keyrings/d.gpg"),
        AptEntry("http://five.example/debian", "signed-by=/usr/share/keyrings/d.gpg"),
        AptEntry("http://six.example/debian", ""),
    ]


FAKE_APT = """\
for word in "$@"; do last=$word; done
case "$last" in
update) exit 0 ;;
broken) echo "E: Unable to locate" >&2; exit 100 ;;
*) printf data > archive.tar.xz ;;
esac
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An apt-get that "fetches" four bytes, and a configuration with one mirror."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "apt-get").write_text("#!/bin/sh\n" + FAKE_APT)
    (bin_ / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    configuration = tmp_path / "apt"
    configuration.mkdir()
    (configuration / "sources.list").write_text("deb http://one.example/debian sid main\n")
    return configuration


DATA_SHA256 = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"


def test_fetching(tmp_path: Path, apt: Path) -> None:
    lines: list[str] = []
    target = tmp_path / "got"
    fetch_archive("p", "trixie", "archive.tar.xz", DATA_SHA256, target, lines.append, apt)
    assert target.read_bytes() == b"data"
    assert len(lines) == 2


def test_wrong_checksum(tmp_path: Path, apt: Path) -> None:
    target = tmp_path / "got"
    with pytest.raises(TaskError, match="wrong checksum"):
        fetch_archive("p", "trixie", "archive.tar.xz", "0" * 64, target, print, apt)
    assert not target.exists()


def test_apt_that_fails(tmp_path: Path, apt: Path) -> None:
    with pytest.raises(UsageError, match="E: Unable to locate"):
        fetch_archive("broken", "trixie", "a.tar.xz", "0" * 64, tmp_path / "got", print, apt)


def test_another_version_in_the_archive(tmp_path: Path, apt: Path) -> None:
    with pytest.raises(UsageError, match=r"has no other\.tar\.xz"):
        fetch_archive("p", "trixie", "other.tar.xz", "0" * 64, tmp_path / "got", print, apt)


def test_machine_without_debian(tmp_path: Path, apt: Path) -> None:
    (apt / "sources.list").write_text("deb http://archive.example/ubuntu jammy main\n")
    with pytest.raises(UsageError, match="no Debian mirror"):
        fetch_archive("p", "trixie", "archive.tar.xz", DATA_SHA256, tmp_path / "g", print, apt)


def test_unpacking_takes_only_the_kernel(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for name in (
            "top/ports/cc3200/FreeRTOS/Source/tasks.c",
            "top/ports/cc3200/FreeRTOS/Source/include/task.h",
            "top/ports/cc3200/FreeRTOS/Source/../../escape.c",
            "top/README",
        ):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
    freertos._unpack(archive, tmp_path / "out")
    found = sorted(p.relative_to(tmp_path / "out") for p in (tmp_path / "out").rglob("*.*"))
    assert found == [Path("include/task.h"), Path("tasks.c")]


def test_archive_without_kernel(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.xz"
    with tarfile.open(archive, "w:xz"):
        pass
    with pytest.raises(TaskError, match="no FreeRTOS kernel"):
        freertos._unpack(archive, tmp_path / "out")
