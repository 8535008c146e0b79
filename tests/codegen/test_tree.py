"""Writing a project: only changes, never half a tree, never somebody else's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fwgen.codegen.tree import MANIFEST, write_tree, written_files
from fwgen.errors import UsageError


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    root = tmp_path / "new" / "project"
    assert write_tree(root, {"a": b"1", "d/b": b"2"}) == ["a", "d/b"]
    before = (root / "a").stat().st_mtime_ns
    assert write_tree(root, {"a": b"1", "d/b": b"3"}) == ["d/b"]
    assert (root / "a").stat().st_mtime_ns == before
    assert (root / "d/b").read_bytes() == b"3"
    assert write_tree(root, {"a": b"1", "d/b": b"3"}) == []


def test_files_that_are_no_longer_part_of_it_go(tmp_path: Path) -> None:
    write_tree(tmp_path / "p", {"a": b"1", "old": b"2"})
    assert write_tree(tmp_path / "p", {"a": b"1"}) == ["old"]
    assert not (tmp_path / "p" / "old").exists()
    assert written_files(tmp_path / "p") == ["a"]


def test_files_of_others_stay(tmp_path: Path) -> None:
    write_tree(tmp_path / "p", {"a": b"1"})
    (tmp_path / "p" / "notes").write_text("mine")
    write_tree(tmp_path / "p", {"b": b"1"})
    assert (tmp_path / "p" / "notes").read_text() == "mine"


def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="not written by fwgen"):
        write_tree(tmp_path, {"a": b"1"})
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_manifest_cannot_remove_files_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    write_tree(tmp_path / "p", {"a": b"1"})
    (tmp_path / "p" / MANIFEST).write_text(f'["a", "../outside", "{outside}"]')
    write_tree(tmp_path / "p", {"b": b"1"})
    assert outside.read_text() == "mine"


def test_a_failure_leaves_the_old_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "p"
    write_tree(root, {"a": b"old", "b": b"old"})
    real = Path.write_bytes
    calls = []

    def failing(self: Path, data: bytes) -> int:
        calls.append(self)
        if len(calls) == 2:
            raise OSError(28, "No space left on device", str(self))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(UsageError, match="No space left"):
        write_tree(root, {"a": b"new", "b": b"new"})
    monkeypatch.undo()
    assert (root / "a").read_bytes() == b"old" and (root / "b").read_bytes() == b"old"
    assert sorted(os.listdir(root)) == [MANIFEST, "a", "b"]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("a file")
    with pytest.raises(UsageError, match="cannot write"):
        write_tree(tmp_path / "p", {"a": b"1"})
