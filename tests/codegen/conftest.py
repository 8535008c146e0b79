"""A program of one operation, for tests that need no real model."""

from __future__ import annotations

import pytest

from fwgen.board.profile import load_board
from fwgen.board.types import Board
from fwgen.codegen.context import ModelPlan
from fwgen.plan.planner import PlanOptions, plan
from fwgen.program.commands import (
    AddressOf,
    Command,
    Cpu,
    End,
    Kernel,
    Mark,
    SelectGroup,
    Wait,
    Write,
)
from fwgen.program.program import (
    Buffer,
    Operation,
    Program,
    Role,
    Space,
    Step,
    Tensor,
    TensorDirection,
)

SDP_POINTER, SDP_ENABLE, SDP_WIDTH, SDP_ADDRESS = 0x9004, 0x9038, 0x903C, 0x9048


def tiny_program(
    name: str = "tiny", config: str = "nv_small", weights: bytes = bytes(range(100))
) -> Program:
    """One SDP operation and a softmax, with constants, an input and an output."""
    roles = (
        ("weights", len(weights), Role.CONSTANT, weights),
        ("input", 64, Role.INPUT, None),
        ("middle", 128, Role.INTERNAL, None),
        ("output", 16, Role.OUTPUT, None),
    )
    last = {Role.CONSTANT: 0, Role.INPUT: 1, Role.INTERNAL: 0, Role.OUTPUT: 1}
    buffers = tuple(
        Buffer(
            i,
            n,
            size,
            64,
            role,
            data,
            -1 if role is not Role.INTERNAL else 0,
            last[role],
            False,
            Space.DRAM,
            f"memory {i}",
        )
        for i, (n, size, role, data) in enumerate(roles)
    )
    tensors = tuple(
        Tensor(n, direction, 0, (1, 8, 1, 2), "int8", "NCxHWx", 8, (1, 16, 16), buffer, 0, 16)
        for n, direction, buffer in (
            ('in "quoted"', TensorDirection.INPUT, 1),
            ("out", TensorDirection.OUTPUT, 3),
        )
    )
    commands: tuple[Command, ...] = (
        Mark(0),
        SelectGroup(SDP_POINTER, 0, 0),
        Write(SDP_WIDTH, 1),
        Write(SDP_ADDRESS, AddressOf(3)),
        Write(SDP_ENABLE, 1),
        Wait(1, operations=(0,)),
        Mark(1),
        Cpu(Kernel.SOFTMAX, (1, 0, AddressOf(2), AddressOf(3), 8, 0x3F800000, 0x3F800000)),
        End(1),
    )
    operations = (
        Operation(0, "SDP", "op0_sdp", "a copy */ of 8 values"),
        Operation(1, "CPU", "op1_softmax", "softmax of 8"),
    )
    steps = (Step((0,), (0, 1), (2,)), Step((1,), (2,), (3,)))
    return Program(
        "nvdla",
        config,
        name,
        "ab" * 32,
        32,
        buffers,
        tensors,
        operations,
        steps,
        commands,
        0x3,
        ("softmax",),
    )


def tiny_plan(board: Board, options: PlanOptions | None = None, **changes: object) -> ModelPlan:
    """The program, placed on a board."""
    config = board.accelerators[0].config
    program = tiny_program(config=config, **changes)  # type: ignore[arg-type]
    return ModelPlan(program, plan(program, board, options or PlanOptions()))


@pytest.fixture(scope="session")
def board() -> Board:
    return load_board("mps2-an385")
