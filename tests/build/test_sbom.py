"""The bill of materials: valid CycloneDX, complete, the same for the same build."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from fwgen.build.sbom import linked_libraries, sbom
from fwgen.errors import UsageError

SHA = hashlib.sha256(b"").hexdigest()

MAP = """
Linker script and memory map

.text           0x00000000      0x200
 .text.main     0x00000000       0x40 obj/src/main.o
 .text.memcpy   0x00000040       0x20 /tools/lib/thumb/libc_nano.a(lib_a-memcpy.o)
 .text          0x00000060       0x00 /tools/lib/thumb/libm.a(lib_a-sin.o)
 .text          0x00000060       0x30 /tools/lib/gcc/libgcc.a(_udivmoddi4.o)
"""


def _info(**changes: Any) -> dict[str, Any]:
    info = {
        "fwgen": "0.1.0",
        "build_id": "0123456789abcdef0123456789abcdef",
        "board": "somewhere",
        "core": "cortex-m3",
        "models": [{"name": "digits", "sha256": SHA, "family": "nvdla", "config": "nv_small"}],
        "application": {"sources": ["main.c"], "digest": SHA},
        "compiler": "arm-none-eabi-gcc 12.2.1",
        "compiler_version": "12.2.1",
        "newlib": "3.3.0",
        "kernel": {"version": "V9.0.0", "sha256": SHA},
        "files": {"firmware.elf": SHA, "firmware.bin": SHA},
    }
    return info | changes


def _folder(tmp_path: Path, **changes: Any) -> Path:
    (tmp_path / "build_info.json").write_text(json.dumps(_info(**changes)))
    (tmp_path / "firmware.map").write_text(MAP)
    return tmp_path


def _components(text: str) -> dict[str, dict[str, Any]]:
    return {component["name"]: component for component in json.loads(text)["components"]}


def test_only_libraries_that_gave_bytes(tmp_path: Path) -> None:
    assert linked_libraries(_folder(tmp_path) / "firmware.map") == ("libgcc", "newlib")


def test_it_keeps_the_schema(tmp_path: Path) -> None:
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    text = sbom(_folder(tmp_path))
    assert validator.validate_str(text) is None
    damaged = text.replace('"type": "firmware"', '"type": "no such"')
    assert validator.validate_str(damaged) is not None


def test_everything_is_named(tmp_path: Path) -> None:
    found = _components(sbom(_folder(tmp_path)))
    assert found["FreeRTOS-Kernel"]["licenses"] == [
        {"expression": "GPL-2.0-only WITH freertos-exception-2.0"}
    ]
    assert found["libgcc"]["version"] == "12.2.1"
    assert found["newlib"]["version"] == "3.3.0"
    assert found["digits"]["type"] == "machine-learning-model"
    assert found["digits"]["hashes"] == [{"alg": "SHA-256", "content": SHA}]
    assert found["application"]["type"] == "application"
    assert {"firmware.elf", "firmware.bin", "fwgen-runtime"} <= set(found)


@pytest.mark.parametrize(("version", "spdx"), [("V10.4.6", "MIT"), ("V11.1.0+", "MIT")])
def test_newer_kernels_are_under_mit(tmp_path: Path, version: str, spdx: str) -> None:
    text = sbom(_folder(tmp_path, kernel={"version": version, "sha256": SHA}))
    assert _components(text)["FreeRTOS-Kernel"]["licenses"] == [{"license": {"id": spdx}}]


def test_the_same_build_gives_the_same_document(tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("first", "second", "other"))
    for folder in (first, second, other):
        folder.mkdir()
    text = sbom(_folder(first))
    assert sbom(_folder(second)) == text
    changed = hashlib.sha256(b"another image").hexdigest()
    assert sbom(_folder(other, files={"firmware.elf": changed})) != text


def test_no_build(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"build_info\.json"):
        sbom(tmp_path)


def test_build_of_another_version(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    info = _info()
    del info["newlib"]
    (folder / "build_info.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="not of this version"):
        sbom(folder)
