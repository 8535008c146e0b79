"""The bill of materials of a firmware, as CycloneDX 1.6 JSON.

Everything in it was noted by the build: the image and its files, the models in it, the
kernel, fwgen's runtime, the application, and the libraries that the linker's map names.
The same build gives the same bytes: there is no time of day in the document, and its
serial number follows from the image.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fwgen.build import result as names
from fwgen.build.result import read_json
from fwgen.build.size import read_pieces
from fwgen.errors import UsageError

if TYPE_CHECKING:
    from cyclonedx.model import HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component

# https://www.freertos.org/a00114.html: V10 changed the licence to MIT. The text that V9
# calls a modification of the GPL is SPDX's freertos-exception-2.0.
_FREERTOS_OLD = "GPL-2.0-only WITH freertos-exception-2.0"
_FREERTOS_NEW = "MIT"
_FIRST_MIT = 10
_LIBGCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
# newlib is a collection; most of it is under these.
_NEWLIB = "BSD-3-Clause AND BSD-2-Clause"

_LIBRARIES = {"libc": "newlib", "libc_nano": "newlib", "libm": "newlib", "libgcc": "libgcc"}


def sbom(directory: Path) -> str:
    """The CycloneDX document of a finished build, as JSON text.

    Args:
        directory: folder that `fwgen build` wrote.

    Raises:
        UsageError: there is no finished build in it, or the library that writes the
            format is not installed.
    """
    info = read_json(directory / names.BUILD_INFO)
    try:
        from cyclonedx.output.json import JsonV1Dot6
    except ImportError as error:
        raise UsageError(
            "the Python package cyclonedx-python-lib is missing",
            expected="version 8 or later",
            hints=("pip install cyclonedx-python-lib",),
        ) from error
    try:
        bom = _bom(info, linked_libraries(directory / names.MAP))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{names.BUILD_INFO} is not of this version of fwgen: {error}",
            where=str(directory),
            expected="a finished build",
            hints=("Build it again with `fwgen build`.",),
        ) from error
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    # The library stamps the time of day.
    del document["metadata"]["timestamp"]
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def linked_libraries(map_file: Path) -> tuple[str, ...]:
    """Names of the toolchain's libraries that gave code or data to the image, sorted.

    Raises:
        UsageError: there is no linker map.
    """
    try:
        text = map_file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"cannot read {map_file.name}: {error.strerror or error}",
            where=str(map_file.parent),
            expected="a directory written by `fwgen build`",
        ) from error
    found = set()
    for pieces in read_pieces(text).values():
        for piece in pieces:
            archive, bracket, _ = piece.file.partition("(")
            stem = Path(archive).stem
            if bracket and stem in _LIBRARIES:
                found.add(_LIBRARIES[stem])
    return tuple(sorted(found))


def _bom(info: dict[str, Any], libraries: tuple[str, ...]) -> Bom:
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType

    models = [
        Component(
            name=model["name"],
            type=ComponentType.MACHINE_LEARNING_MODEL,
            bom_ref=f"model:{model['name']}",
            version=model["sha256"][:12],
            description=f"compiled for {model['family']} {model['config']}",
            hashes=[_sha256(model["sha256"])],
        )
        for model in info["models"]
    ]
    parts = [_kernel(info["kernel"]), _runtime(info["fwgen"]), *models]
    application = info["application"]
    if application["sources"]:
        parts.append(
            Component(
                name="application",
                type=ComponentType.APPLICATION,
                bom_ref="application",
                hashes=[_sha256(application["digest"])],
                description=f"{len(application['sources'])} source files of the project",
            )
        )
    versions = {"newlib": info["newlib"], "libgcc": info["compiler_version"]}
    parts += [_library(name, versions[name]) for name in libraries]
    firmware = Component(
        name=f"{info['board']}-{'-'.join(model['name'] for model in info['models'])}",
        type=ComponentType.FIRMWARE,
        bom_ref="firmware",
        version=info["build_id"],
        description=f"firmware for the board {info['board']} ({info['core']})",
        hashes=[_sha256(info["files"][names.ELF])],
    )
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"fwgen:{info['files'][names.ELF]}"),
        components=[*parts, *_files(info["files"])],
    )
    bom.metadata.component = firmware
    bom.metadata.tools.components.add(_tool("fwgen", info["fwgen"]))
    bom.metadata.tools.components.add(_tool(info["compiler"], info["compiler_version"]))
    bom.register_dependency(firmware, parts)
    return bom


def _sha256(content: str) -> HashType:
    from cyclonedx.model import HashAlgorithm, HashType

    return HashType(alg=HashAlgorithm.SHA_256, content=content)


def _files(hashes: dict[str, str]) -> list[Component]:
    from cyclonedx.model.component import Component, ComponentType

    return [
        Component(
            name=name,
            type=ComponentType.FILE,
            bom_ref=f"file:{name}",
            hashes=[_sha256(value)],
        )
        for name, value in hashes.items()
    ]


def _kernel(kernel: dict[str, str]) -> Component:
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    version = kernel["version"]
    major = int(version.lstrip("V").split(".")[0])
    return Component(
        name="FreeRTOS-Kernel",
        type=ComponentType.OPERATING_SYSTEM,
        bom_ref="kernel",
        version=version,
        purl=PackageURL("github", "FreeRTOS", "FreeRTOS-Kernel", version),
        licenses=[_licence(_FREERTOS_NEW if major >= _FIRST_MIT else _FREERTOS_OLD)],
        hashes=[_sha256(kernel["sha256"])],
        description="the hash is over all kernel files of the project",
    )


def _runtime(version: str) -> Component:
    from cyclonedx.model.component import Component, ComponentType

    return Component(
        name="fwgen-runtime",
        type=ComponentType.LIBRARY,
        bom_ref="runtime",
        version=version,
        licenses=[_licence("Apache-2.0")],
        description="start-up, driver, executor, link and generated sources",
    )


def _library(name: str, version: str) -> Component:
    from cyclonedx.model.component import Component, ComponentType

    return Component(
        name=name,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        version=version,
        licenses=[_licence(_LIBGCC if name == "libgcc" else _NEWLIB)],
    )


def _tool(name: str, version: str) -> Component:
    from cyclonedx.model.component import Component, ComponentType

    return Component(name=name, type=ComponentType.APPLICATION, version=version)


def _licence(expression: str) -> Any:
    from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression

    if " " in expression:
        return LicenseExpression(expression)
    return DisjunctiveLicense(id=expression)
