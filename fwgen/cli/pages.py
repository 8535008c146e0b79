"""What `fwgen VERB --help` says below the options: examples, exit codes, environment, files.

Data only; manual.py puts it into the help and fwgen/docs/cli.py into docs/cli.md. A verb is
named by its path ("boards show"). Code 0, and 130 for Ctrl-C, hold everywhere and are not
repeated; where a verb says nothing of a code, docs/exit-codes.md does.
"""

from __future__ import annotations

from dataclasses import dataclass

ENVIRONMENT = {
    "FWGEN_BOARDS": "Folders with board profiles of yours, separated by colons.",
    "FWGEN_CACHE": "Folder for kernel sources and the built emulator; default ~/.cache/fwgen.",
    "FWGEN_DEBUG": "If set, errors show their traceback, as with -vvv.",
    "FWGEN_QEMU": "Another qemu-system-arm.",
    "FWGEN_QEMU_PLUGIN_VERSION": "Version of QEMU's plugin interface that the emulator announces.",
    "FWGEN_TOOLCHAIN": "Prefix of the cross compiler; default arm-none-eabi-.",
    "FREERTOS_KERNEL_PATH": "FreeRTOS kernel tree, V9 to V11.",
    "CC": "The host's compiler, for the emulator.",
    "NO_COLOR": "If set, no colours.",
    "GITHUB_STEP_SUMMARY": "File to which a summary is appended (set by GitHub Actions).",
}

_COMMON = ("FWGEN_DEBUG", "NO_COLOR")
_BUILD = ("FREERTOS_KERNEL_PATH", "FWGEN_BOARDS", "FWGEN_CACHE", "FWGEN_TOOLCHAIN")
_EMULATOR = ("CC", "FWGEN_BOARDS", "FWGEN_CACHE", "FWGEN_QEMU", "FWGEN_QEMU_PLUGIN_VERSION")

_USAGE = "wrong arguments, an unknown board, a missing tool"
_MODEL = "the model is damaged, or the board's accelerator lacks what it needs"
_FIT = "model or image is larger than the board's memory"
_DEVICE = "the line, the device or the emulator failed"
_TIME = "time ran out"


@dataclass(frozen=True, slots=True)
class Page:
    """Of one verb.

    Attributes:
        examples: (command, what it does).
        codes: exit code -> when.
        environment: names in ENVIRONMENT, besides those that hold for every verb.
        files: (path, what it is).
    """

    examples: tuple[tuple[str, str], ...]
    codes: tuple[tuple[int, str], ...] = ((2, _USAGE),)
    environment: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    def variables(self) -> tuple[str, ...]:
        """Names of all variables, sorted."""
        return tuple(sorted({*self.environment, *_COMMON}))


_BUILD_FILES = (
    ("fwgen.toml", "the project: models, board, application, options (docs/applications.md)"),
    ("build/BOARD/firmware.elf", "the image; also .bin, .hex and .map"),
    ("build/BOARD/size.json", "bytes by region and component, stack bounds"),
    ("build/BOARD/memory_map.json", "where every buffer lies"),
    ("build/BOARD/build_info.json", "board, options, hashes, versions of the tools"),
)
_LINE = ((1, "the device refused"), (2, _USAGE), (5, _DEVICE))

PAGES = {
    "build": Page(
        (
            ("fwgen build", "the project in this folder"),
            ("fwgen build digits.nvdla --board mps2-an385", "a model alone, for one board"),
            ("fwgen build a.nvdla b.nvdla -b mps3-an547-dual --accel b=dla1", "two models"),
            ("fwgen build --board mps2-an386 --no-shell --no-names", "smaller, on another board"),
        ),
        (
            (1, "a source does not compile, or the image breaks a rule (heap, recursion)"),
            (2, _USAGE),
            (3, _MODEL),
            (4, _FIT),
        ),
        _BUILD,
        _BUILD_FILES,
    ),
    "run": Page(
        (
            (
                "fwgen run build/mps2-an385-digits -i image=image.npy -e scores=scores.npy",
                "compare",
            ),
            ("fwgen run -i image=six.png -o out", "keep the outputs of the project's firmware"),
            ('fwgen run --until "inference 3"', "show the console of an application"),
            ("fwgen run --fault irq-lost:3 --timeout-ms 50", "what if an interrupt is lost?"),
            ("fwgen run --profile --report page.html", "where the time goes"),
            ("fwgen run --gdb", "wait for a debugger"),
        ),
        (
            (1, "a difference, or a fault of the firmware"),
            (2, _USAGE),
            (5, "an inference failed, or the emulator did"),
            (124, _TIME),
        ),
        _EMULATOR,
        (("build/BOARD/build_info.json", "says which board the firmware is for"),),
    ),
    "test": Page(
        (
            ("fwgen test", "all tests of the project in this folder"),
            ("fwgen test --list", "their names"),
            ('fwgen test -k "noise and not lost" -j 2', "some of them, two emulators at a time"),
            ("fwgen test --junit report.xml --markdown summary.md", "reports for a CI system"),
        ),
        (
            (1, "wrong bytes, a failed reference or firmware; or failures of several kinds"),
            (2, "a wrong table, value or file; no test was chosen"),
            (3, _MODEL),
            (4, "an image is over its budget, or larger than the board's memory"),
            (5, _DEVICE),
            (124, _TIME),
        ),
        tuple(sorted({*_BUILD, *_EMULATOR, "GITHUB_STEP_SUMMARY"})),
        (
            ("fwgen.toml", "[test]: boards, cases, budgets, faults (docs/testing.md)"),
            ("build/BOARD", "the images"),
            ("build/.fwgen/last.json", "sizes of the last run that kept its budgets"),
        ),
    ),
    "init": Page(
        (
            ("fwgen init camera", "the digits example as a project"),
            ("fwgen init -b mps3-an547 -m net.nvdla", "a model of yours, in this empty folder"),
        ),
        ((2, "the folder is in use, or no such board or model"), (3, _MODEL), (4, _FIT)),
        ("FWGEN_BOARDS",),
    ),
    "new app": Page(
        (("fwgen new app camera --board mps2-an385 --model digits.nvdla", "a new project"),),
        ((2, "the folder is in use, or no such board or model"), (3, _MODEL), (4, _FIT)),
        ("FWGEN_BOARDS",),
    ),
    "inspect": Page(
        (
            ("fwgen inspect digits.nvdla", "what the file says"),
            ("fwgen inspect digits.nvdla --stage program", "every register write"),
            ("fwgen inspect digits.nvdla -s layout -b mps2-an385 --json", "addresses as data"),
        ),
        ((2, _USAGE), (3, _MODEL), (4, _FIT)),
        ("FWGEN_BOARDS",),
    ),
    "check": Page(
        (("fwgen check digits.nvdla --board mps2-an385", "what runs where, and why not"),),
        ((2, _USAGE), (3, _MODEL), (4, _FIT)),
        ("FWGEN_BOARDS",),
    ),
    "boards": Page(
        (
            ("fwgen boards", "the list"),
            ("fwgen boards show mps2-an385", "the facts of one board"),
        ),
        environment=("FWGEN_BOARDS",),
    ),
    "boards list": Page((("fwgen boards list", "all boards"),), environment=("FWGEN_BOARDS",)),
    "boards show": Page(
        (
            ("fwgen boards show mps2-an385", "an installed board"),
            ("fwgen boards show mine.toml", "check a profile of yours"),
        ),
        environment=("FWGEN_BOARDS",),
    ),
    "boards schema": Page(
        (("fwgen boards schema -o board-schema.json", "for editors that check TOML"),)
    ),
    "export": Page(
        (("fwgen export . --format cmake -o firmware", "the project as a CMake tree"),),
        environment=_BUILD,
    ),
    "size": Page(
        (
            ("fwgen size", "of the project in this folder"),
            ("fwgen size build/mps2-an385-digits --json", "as data"),
        ),
        files=(("size.json", "what is shown, in the build folder"),),
    ),
    "report": Page(
        (("fwgen report -o report.html", "of the project in this folder"),),
        environment=("FWGEN_BOARDS",),
        files=(("report.html", "the page, in the build folder"),),
    ),
    "sbom": Page((("fwgen sbom -o sbom.cdx.json", "of the project in this folder"),)),
    "pack": Page(
        (
            ("fwgen pack net.nvdla -b mps2-an385-nvmem -o net.pkg", "a package"),
            ("fwgen pack --new-key key.pem", "a key to sign with"),
        ),
        ((2, _USAGE), (3, _MODEL), (4, _FIT)),
        ("FWGEN_BOARDS",),
    ),
    "update": Page(
        (("fwgen update net.pkg --port /dev/ttyUSB0", "send it, try it, wait for the result"),),
        (
            (1, "the trial of the model failed and the device went back"),
            (2, _USAGE),
            (3, "the package is damaged or refused"),
            (5, "the line or the flash failed"),
            (124, _TIME),
        ),
    ),
    "flash": Page(
        (
            ("fwgen flash --port /dev/ttyUSB0 build/rv1126-nvdla-digits", "load, verify, start"),
            ("fwgen flash --dry-run build/rv1126-nvdla-digits", "print what would be done"),
            ("fwgen flash -p /dev/ttyUSB0 --no-start --log log.txt .", "this folder's project"),
        ),
        (
            (2, "a wrong option, or a board that this verb does not load"),
            (5, "the device or the line failed; the message says what state the device is in"),
            (124, _TIME),
        ),
        ("FWGEN_BOARDS",),
        (("build/BOARD/firmware.bin", "what is loaded, and firmware.REGION.bin"),),
    ),
    "nvmem": Page((("fwgen nvmem --port /dev/ttyUSB0 list", "partitions and settings"),), _LINE),
    "nvmem list": Page((("fwgen nvmem -p /dev/ttyUSB0 list", "partitions and settings"),), _LINE),
    "nvmem get": Page((("fwgen nvmem -p /dev/ttyUSB0 get gain", "print a setting"),), _LINE),
    "nvmem set": Page(
        (
            ("fwgen nvmem -p /dev/ttyUSB0 set gain 12", "text"),
            ("fwgen nvmem -p /dev/ttyUSB0 set key hex:00ff", "bytes"),
            ("fwgen nvmem -p /dev/ttyUSB0 set table @table.bin", "the bytes of a file"),
        ),
        _LINE,
    ),
    "nvmem delete": Page((("fwgen nvmem -p /dev/ttyUSB0 delete gain", "forget it"),), _LINE),
    "nvmem slots": Page((("fwgen nvmem -p /dev/ttyUSB0 slots", "which model runs"),), _LINE),
    "nvmem erase": Page((("fwgen nvmem -p /dev/ttyUSB0 erase slot1", "a slot"),), _LINE),
    "nvmem confirm": Page(
        (("fwgen nvmem -p /dev/ttyUSB0 confirm", "keep the model on trial"),), _LINE
    ),
    "doctor": Page(
        (
            ("fwgen doctor", "what is there, what is missing"),
            ("fwgen doctor --prepare", "fetch the kernel and build the emulator now"),
        ),
        ((2, "a tool that is needed is missing"),),
        tuple(sorted({*_BUILD, *_EMULATOR})),
    ),
    "monitor": Page(
        (
            ("fwgen monitor --port /dev/ttyUSB0", "a board; Ctrl-] leaves"),
            ("fwgen monitor build/mps2-an385-digits", "the same firmware, emulated"),
            (
                "fwgen monitor build/mps2-an385-nvmem-digits --listen 5555",
                "and fwgen update --port socket://127.0.0.1:5555",
            ),
        ),
        ((2, _USAGE), (5, _DEVICE)),
        _EMULATOR,
    ),
    "replay": Page(
        (
            ("fwgen replay traces/nv_small -j 2", "every trace below a folder"),
            ("fwgen replay conv.cfg --config nv_small --model reference", "by the reference"),
        ),
        (
            (1, "a case failed"),
            (2, "there was nothing to play"),
            (3, "the only case is malformed or cannot be run"),
        ),
        ("CC", "FWGEN_CACHE"),
    ),
    "demo": Page(
        (("fwgen demo --images 20", "quicker"),),
        ((1, "a byte differs"), (2, _USAGE), (5, _DEVICE), (124, _TIME)),
        tuple(sorted({*_BUILD, *_EMULATOR})),
    ),
    "completion": Page((("fwgen completion bash", "to be evaluated by the shell"),)),
    "version": Page((("fwgen version --json", "for a report of a problem"),)),
}
