"""What the journal acknowledged is read again, whatever was cut off behind it; what is old is not taken for new."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_emulator.store import journal
from hive_emulator.store.journal import Journal


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(journal, "SIZE", 400)
    return tmp_path / "journal"


@pytest.fixture
def written(path: Path) -> Iterator[Journal]:
    context = Journal(path)
    for text in (b"one", b"two", b"three"):
        context.append(text)
    yield context
    context.close()


def read_again(path: Path, after: int = 0) -> list[bytes]:
    context = Journal(path)
    try:
        return context.read(after)
    finally:
        context.close()


def test_what_was_written_is_read_again_and_writing_goes_on_behind_it(path: Path, written: Journal) -> None:
    other = Journal(path)
    assert other.read(0) == [b"one", b"two", b"three"]
    assert other.number == 3
    other.append(b"four")
    other.close()
    assert read_again(path) == [b"one", b"two", b"three", b"four"]


def test_the_file_is_the_owners_and_as_large_as_it_will_ever_be(path: Path, written: Journal) -> None:
    status = path.stat()
    assert (oct(status.st_mode & 0o777), status.st_size) == ("0o600", 400)


@pytest.mark.parametrize("whole", range(len(b"three") + 16))
def test_an_entry_that_was_cut_off_ends_the_reading_before_it(path: Path, written: Journal, whole: int) -> None:
    start = path.read_bytes().index(b"three") - 16
    with path.open("r+b") as file:
        file.seek(start + whole)
        file.write(b"\xff")
    assert read_again(path) == [b"one", b"two"]


def test_what_is_left_of_the_round_before_is_not_taken_for_new(path: Path, written: Journal) -> None:
    written.begin_again()
    assert read_again(path, after=3) == []
    written.append(b"1st")  # exactly over the old first one, so that the old second one stands right behind it
    assert read_again(path, after=3) == [b"1st"]
    written.append(b"2nd")
    assert read_again(path, after=3) == [b"1st", b"2nd"]


def test_it_says_when_a_text_does_not_fit_any_more(path: Path) -> None:
    context = Journal(path)
    assert context.has_room(b"x" * 384)
    assert not context.has_room(b"x" * 385)
    context.append(b"x" * 300)
    assert context.has_room(b"x" * 68)
    assert not context.has_room(b"x" * 69)
    context.begin_again()
    assert context.has_room(b"x" * 384)
    context.close()


def test_a_write_that_the_disk_refused_was_never_there(
    path: Path, written: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(journal, "_sync", refuse)
        with pytest.raises(OSError, match="Input/output error"):
            written.append(b"four")
    assert read_again(path) == [b"one", b"two", b"three"]
    written.append(b"another")
    assert read_again(path) == [b"one", b"two", b"three", b"another"]


def test_an_entry_is_synced_before_it_counts(written: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    monkeypatch.setattr(journal, "_sync", lambda file: numbers.append((file, written.number)))
    written.append(b"four")
    assert numbers == [(written._file, 3)]
    assert written.number == 4
