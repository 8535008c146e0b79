"""Tests of a project's firmware in the emulator (`fwgen test`, the pytest plugin)."""
