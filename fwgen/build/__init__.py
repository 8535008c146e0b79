"""Toolchain and kernel discovery, compiling, artefacts and their reports."""
