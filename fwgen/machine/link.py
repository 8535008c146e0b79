"""Client of the serial link: requests, resends, typed answers (docs/link.md)."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fwgen.errors import DeviceError, RunTimeout
from fwgen.machine.frames import (
    MAX_PAYLOAD,
    RESPONSE,
    Frame,
    Receiver,
    Request,
    Status,
    status_words,
)
from fwgen.machine.transport import Transport

Direction = Literal["input", "output"]
# How long a RUN without a limit of its own may take before it is asked for again.
_UNLIMITED_RUN_SECONDS = 60.0

_DIRECTIONS: dict[Direction, int] = {"input": 0, "output": 1}
DTYPES = {1: "int8", 2: "uint8", 3: "int16", 4: "uint16", 5: "float16", 6: "float32"}
LAYOUTS = {1: "NCHW", 2: "NHWC", 3: "NCxHWx"}
NO_OPERATION = 0xFFFFFFFF
_WRITE_CHUNK = MAX_PAYLOAD - 8
_READ_CHUNK = MAX_PAYLOAD


class LinkError(DeviceError):
    """The firmware answered with a status other than OK.

    Attributes:
        status: the code of docs/link.md.
        payload: what came with it.
    """

    def __init__(
        self, message: str, status: int, payload: bytes = b"", *, where: str | None = None
    ) -> None:
        super().__init__(message, where=where)
        self.status = status
        self.payload = payload


@dataclass(frozen=True, slots=True)
class Info:
    """Answer of INFO: what firmware this is."""

    protocol: int
    models: int
    accelerators: int
    profile: bool
    shell: bool
    canaries: bool
    test_build: bool
    max_payload: int
    build_id: str  # 32 hex digits
    board: str
    fwgen_version: str
    kernel_version: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Answer of MODEL."""

    index: int
    inputs: int
    outputs: int
    operations: int
    layout_hash: str
    name: str
    accelerator: str
    family: str
    config: str


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Answer of TENSOR: a tensor the application binds.

    Attributes:
        shape: (N, C, H, W) in elements.
        strides: bytes (element, line, surface).
        dtype, layout: as in fwgen.program.Tensor.
        scale: None where the model does not state it; then zero_point means nothing.
    """

    model: int
    direction: Direction
    index: int
    name: str
    size: int
    shape: tuple[int, int, int, int]
    strides: tuple[int, int, int]
    scale: float | None
    zero_point: int
    dtype: str
    layout: str
    atom: int


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Answer of RUN."""

    duration_ticks: int
    timer_hz: int
    interrupts: int
    kernel_ticks: int

    @property
    def seconds(self) -> float:
        """Duration on the device's clock."""
        return self.duration_ticks / self.timer_hz if self.timer_hz else 0.0


RESTARTS = ("other", "engine", "task", "fault", "supervisor")
"""enum fwgen_restart of the runtime: why a device was reset."""


@dataclass(frozen=True, slots=True)
class RestartInfo:
    """Answer of RESTART.

    Attributes:
        kind: one of RESTARTS.
        name: accelerator, task or kind of fault.
        detail: engine: the operation; task: kernel ticks since its last sign of life.
        cause: the SoC's own word, 0 where it has none.
    """

    kind: str
    name: str
    detail: int
    cause: int


@dataclass(frozen=True, slots=True)
class StatusInfo:
    """Answer of STATUS."""

    uptime_ticks: int
    tick_hz: int
    inferences: int
    errors: int
    interrupts: int
    spurious_interrupts: int
    resets: int
    last_failed_operation: int | None
    last_status: int
    received_frames: int
    bad_frames: int
    overruns: int


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task of TASKS; stack sizes in words, size 0 where unknown."""

    name: str
    priority: int
    stack_words: int
    least_free_words: int


class PayloadReader:
    """Takes fields off a payload; a short one is the firmware's error."""

    def __init__(self, payload: bytes, request: Request) -> None:
        self._payload = payload
        self._position = 0
        self._request = request

    def unpack(self, layout: str) -> tuple[int, ...]:
        packed = struct.Struct("<" + layout)
        end = self._position + packed.size
        if end > len(self._payload):
            raise self._short()
        fields = packed.unpack_from(self._payload, self._position)
        self._position = end
        return fields

    def take(self, count: int) -> bytes:
        data = self._payload[self._position : self._position + count]
        if len(data) != count:
            raise self._short()
        self._position += count
        return data

    def string(self) -> str:
        (length,) = self.unpack("B")
        return self.take(length).decode("utf-8", "replace")

    def _short(self) -> DeviceError:
        return DeviceError(
            f"the answer to {self._request.name} is too short ({len(self._payload)} bytes)",
            hints=("Firmware and fwgen may be of different versions; build again.",),
        )


class Link:
    """One host's end of the link.

    Args:
        transport: the line.
        timeout: seconds to wait for a response before the request is sent again.
        attempts: how often a request is sent at most.
        on_text: gets console text as it arrives; may raise to end the waiting.
        deadline: `time.monotonic()` after which every wait raises RunTimeout.

    All methods raise LinkError for an error status, DeviceError when no answer
    comes or the line closes, RunTimeout at the deadline.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        timeout: float = 2.0,
        attempts: int = 4,
        on_text: Callable[[bytes], None] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.transport = transport
        self.timeout = timeout
        self.attempts = attempts
        self.deadline = deadline
        self.resends = 0
        self._on_text = on_text or (lambda text: None)
        self.receiver = Receiver()
        self._sequence = 0

    @property
    def bad_frames(self) -> int:
        """Frames from the target that were damaged."""
        return self.receiver.bad_frames

    # ---- requests ----

    def info(self) -> Info:
        """Start a session: who is there."""
        self._sequence = 0
        r = PayloadReader(self._exchange(Request.INFO, b"", sequence=0), Request.INFO)
        protocol, models, accelerators, flags, payload, _ = r.unpack("BBBBHH")
        return Info(
            protocol=protocol,
            models=models,
            accelerators=accelerators,
            profile=bool(flags & 1),
            shell=bool(flags & 2),
            canaries=bool(flags & 4),
            test_build=bool(flags & 8),
            max_payload=payload,
            build_id=r.take(16).hex(),
            board=r.string(),
            fwgen_version=r.string(),
            kernel_version=r.string(),
        )

    def model(self, index: int = 0) -> ModelInfo:
        """Facts of a model."""
        r = PayloadReader(self._exchange(Request.MODEL, bytes((index,))), Request.MODEL)
        inputs, outputs, operations = r.unpack("BBH")
        return ModelInfo(
            index,
            inputs,
            outputs,
            operations,
            r.take(8).hex(),
            r.string(),
            r.string(),
            r.string(),
            r.string(),
        )

    def tensor(self, model: int, direction: Direction, index: int) -> TensorInfo:
        """Facts of a bound tensor."""
        request = bytes((model, _DIRECTIONS[direction], index))
        payload = self._exchange(Request.TENSOR, request)
        r = PayloadReader(payload, Request.TENSOR)
        size, n, c, h, w, element, line, surface = r.unpack("8I")
        scale = struct.unpack("<f", r.take(4))[0]
        zero_point, dtype, layout, atom = r.unpack("iBBH")
        name = r.string()
        if dtype not in DTYPES or layout not in LAYOUTS:
            raise DeviceError(
                f"tensor '{name}' has an unknown type {dtype} or layout {layout}",
                hints=("Firmware and fwgen may be of different versions; build again.",),
            )
        return TensorInfo(
            model,
            direction,
            index,
            name,
            size,
            (n, c, h, w),
            (element, line, surface),
            scale if scale != 0.0 else None,
            zero_point,
            DTYPES[dtype],
            LAYOUTS[layout],
            atom,
        )

    def tensors(self, model: ModelInfo, direction: Direction) -> tuple[TensorInfo, ...]:
        """All tensors of one direction, in bind order."""
        count = model.inputs if direction == "input" else model.outputs
        return tuple(self.tensor(model.index, direction, i) for i in range(count))

    def write_tensor(self, tensor: TensorInfo, data: bytes) -> None:
        """Set all bytes of a tensor; `data` has exactly its size.

        The transfer is verified by the tensor's CRC-32.
        """
        if len(data) != tensor.size:
            raise ValueError(f"{len(data)} bytes for tensor '{tensor.name}' of {tensor.size}")
        for offset in range(0, len(data), _WRITE_CHUNK):
            chunk = data[offset : offset + _WRITE_CHUNK]
            self._exchange(Request.WRITE, self._address(tensor, offset) + chunk)
        self._verify(tensor, data)

    def read_tensor(self, tensor: TensorInfo) -> bytes:
        """All bytes of a tensor, verified by its CRC-32."""
        out = bytearray()
        while len(out) < tensor.size:
            length = min(_READ_CHUNK, tensor.size - len(out))
            request = self._address(tensor, len(out)) + struct.pack("<I", length)
            data = self._exchange(Request.READ, request)
            if len(data) != length:
                raise DeviceError(f"asked for {length} bytes of '{tensor.name}', got {len(data)}")
            out += data
        self._verify(tensor, out)
        return bytes(out)

    def fill_tensor(self, tensor: TensorInfo, value: int) -> None:
        """Set every byte of a tensor to one value."""
        place = bytes((tensor.model, _DIRECTIONS[tensor.direction], tensor.index, value))
        self._exchange(Request.FILL, place)

    def crc(self, tensor: TensorInfo) -> int:
        """CRC-32 of a tensor's bytes, computed by the target."""
        place = bytes((tensor.model, _DIRECTIONS[tensor.direction], tensor.index, 0))
        return PayloadReader(self._exchange(Request.CRC, place), Request.CRC).unpack("I")[0]

    def run(self, model: int = 0, *, timeout_ms: int = 0, patience: float | None = None) -> RunInfo:
        """One inference.

        Args:
            timeout_ms: the target's limit for the whole inference, waiting for its turn
                included; 0: only each operation has its limit.
            patience: seconds to wait for the response before asking again;
                default is the timeout plus 2 s, or a minute without one.

        Raises:
            LinkError: the inference failed; the message names the operation.
        """
        request = struct.pack("<BBHI", model, 0, 0, timeout_ms)
        limit = timeout_ms / 1000 if timeout_ms else _UNLIMITED_RUN_SECONDS
        wait = patience if patience is not None else limit + max(self.timeout, 2.0)
        try:
            r = PayloadReader(self._exchange(Request.RUN, request, timeout=wait), Request.RUN)
        except LinkError as error:
            if len(error.payload) >= 4:
                (operation,) = struct.unpack_from("<I", error.payload)
                if operation != NO_OPERATION:
                    raise LinkError(
                        f"{status_words(error.status)}, in operation {operation}",
                        error.status,
                        error.payload,
                        where=error.where,
                    ) from None
            raise
        _, duration, hz, interrupts, ticks = r.unpack("IQIII")
        return RunInfo(duration, hz, interrupts, ticks)

    def status(self) -> StatusInfo:
        """Counters of the runtime."""
        r = PayloadReader(self._exchange(Request.STATUS, b""), Request.STATUS)
        f = r.unpack("8IB3xIII")
        return StatusInfo(
            uptime_ticks=f[0],
            tick_hz=f[1],
            inferences=f[2],
            errors=f[3],
            interrupts=f[4],
            spurious_interrupts=f[5],
            resets=f[6],
            last_failed_operation=None if f[7] == NO_OPERATION else f[7],
            last_status=f[8],
            received_frames=f[9],
            bad_frames=f[10],
            overruns=f[11],
        )

    def restart(self) -> RestartInfo:
        """Why the device was reset; builds with a watchdog."""
        r = PayloadReader(self._exchange(Request.RESTART, b""), Request.RESTART)
        kind, detail, cause = r.unpack("III")
        if kind >= len(RESTARTS):
            raise DeviceError(f"the device was reset for a reason that is unknown: {kind}")
        return RestartInfo(RESTARTS[kind], r.string(), detail, cause)

    def profile(self, model: int = 0) -> tuple[int, ...]:
        """Timer ticks per operation of the last inference."""
        ticks: list[int] = []
        while True:
            request = struct.pack("<BBH", model, 0, len(ticks))
            r = PayloadReader(self._exchange(Request.PROFILE, request), Request.PROFILE)
            total, count = r.unpack("HH")
            ticks.extend(r.unpack(f"{count}I"))
            if len(ticks) >= total:
                return tuple(ticks)
            if count == 0:
                raise DeviceError(f"the profile ends after {len(ticks)} of {total} operations")

    def tasks(self) -> tuple[TaskInfo, ...]:
        """All tasks and their stack reserves."""
        r = PayloadReader(self._exchange(Request.TASKS, b""), Request.TASKS)
        count, _ = r.unpack("HH")
        tasks = []
        for _ in range(count):
            size, free, priority = r.unpack("IIB3x")
            tasks.append(TaskInfo(r.string(), priority, size, free))
        return tuple(tasks)

    def exit(self, code: int = 0) -> None:
        """End the emulator (test builds only)."""
        self._exchange(Request.EXIT, bytes((code,)))

    # ---- requests of other modules ----

    def request(self, kind: Request, payload: bytes = b"", timeout: float | None = None) -> bytes:
        """One request and its answer's payload; errors as the class says."""
        return self._exchange(kind, payload, timeout=timeout)

    def post(self, kind: Request, payload: bytes, seconds: float) -> int | None:
        """Send a request without waiting; returns its sequence, None: the line took it not."""
        sequence = self._sequence = self._sequence % 0xFFFF + 1
        wire = Frame(kind, sequence, payload=payload).encode()
        return sequence if self.transport.send(wire, self._until(seconds)) else None

    def answers(self, seconds: float) -> list[Frame]:
        """Frames that arrive within a time, as soon as there are any."""
        return self._receive(self._until(seconds))

    # ---- text ----

    def send_text(self, text: bytes) -> None:
        """Input for the shell; must not contain zero bytes."""
        if b"\0" in text:
            raise ValueError("text with a zero byte")
        self.transport.send(text, self._until(self.timeout))

    def drain(self, seconds: float) -> None:
        """Receive for a while, for the console text in it; late frames are dropped."""
        end = self._until(seconds)
        while time.monotonic() < end:
            self._receive(end)

    # ---- the exchange ----

    def _address(self, tensor: TensorInfo, offset: int) -> bytes:
        place = (tensor.model, _DIRECTIONS[tensor.direction], tensor.index, 0)
        return struct.pack("<4BI", *place, offset)

    def _verify(self, tensor: TensorInfo, data: bytes | bytearray) -> None:
        if self.crc(tensor) != zlib.crc32(data):
            raise DeviceError(
                f"the bytes of tensor '{tensor.name}' changed on the way",
                where=self.transport.name,
                expected="the CRC-32 that the firmware computes over it",
            )

    def _until(self, seconds: float) -> float:
        end = time.monotonic() + seconds
        return end if self.deadline is None else min(end, self.deadline)

    def _receive(self, until: float) -> list[Frame]:
        """Frames that arrive before `until`; text goes to on_text."""
        frames = []
        for item in self.receiver.feed(self.transport.receive(until)):
            if isinstance(item, Frame):
                frames.append(item)
            else:
                self._on_text(item)
        return frames

    def _exchange(
        self,
        kind: Request,
        payload: bytes,
        *,
        timeout: float | None = None,
        sequence: int | None = None,
    ) -> bytes:
        if sequence is None:
            sequence = self._sequence = self._sequence % 0xFFFF + 1
        wire = Frame(kind, sequence, payload=payload).encode()
        for attempt in range(self.attempts):
            self.resends += attempt > 0
            until = self._until(self.timeout if timeout is None else timeout)
            if self.transport.send(wire, until):
                answer = self._await_answer(kind, sequence, until)
                if answer is not None:
                    return self._check(kind, answer)
            if self.deadline is not None and time.monotonic() >= self.deadline:
                raise RunTimeout(
                    f"no answer to {kind.name} within the time limit", where=self.transport.name
                )
        raise DeviceError(
            f"no answer to {kind.name} after {self.attempts} attempts",
            where=self.transport.name,
            hints=(
                "Check that the firmware runs and was built with the serial link.",
                "Check the port and its speed against the board profile.",
            ),
        )

    def _await_answer(self, kind: Request, sequence: int, until: float) -> Frame | None:
        while True:
            for frame in self._receive(until):
                if frame.sequence == sequence and frame.type == kind | RESPONSE:
                    return frame
            if time.monotonic() >= until:
                return None

    def _check(self, kind: Request, answer: Frame) -> bytes:
        if answer.status == Status.OK:
            return answer.payload
        words = status_words(answer.status)
        if answer.status == Status.BAD_VERSION and answer.payload:
            words += f" (version {answer.payload[0]})"
        raise LinkError(
            f"{kind.name} failed: {words}",
            answer.status,
            answer.payload,
            where=self.transport.name,
        )
