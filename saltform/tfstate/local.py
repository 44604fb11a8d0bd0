"""States in files below `state_dir`: one private folder for each component."""

from __future__ import annotations

import os
import re
from pathlib import Path

from saltform.errors import StateError
from saltform.files import make_folder
from saltform.layout import STATE_FILE, Layout
from saltform.tfstate.document import VERSION, Head, State, read
from saltform.tfstate.states import States
from saltform.tfstate.versions import has_versions

LOCK_NOTE = ".terraform.tfstate.lock.info"  # says who; the lock itself is the kernel's
# Terraform writes its keys in this order; whatever differs is read as a whole.
_BEGINNING = re.compile(
    rb'\s*\{\s*"version":\s*%d,\s*"terraform_version":\s*"[^"]*",\s*"serial":\s*(\d+),\s*"lineage":\s*"([^"]*)",'
    % VERSION
)
_ENOUGH = 512


class LocalStates(States):
    """The states of one master, as the backend `local` of generated roots writes them."""

    def __init__(self, state_dir: Path) -> None:
        self._layout = Layout(state_dir)

    def path(self, environment: str, component: str) -> Path:
        return self._layout.states(environment, component) / STATE_FILE

    def prepare(self, environment: str, component: str) -> Path:
        """The path, in a folder that exists and is private."""
        path = self.path(environment, component)
        make_folder(path.parent, durable=True)
        return path

    def head(self, environment: str, component: str) -> Head | None:
        """Serial and lineage from the first bytes: a state of many megabytes costs no more than a small one."""
        path = self.path(environment, component)
        try:
            with path.open("rb", buffering=0) as file:
                beginning = file.read(_ENOUGH)
                file.seek(max(0, os.fstat(file.fileno()).st_size - 16))
                whole = file.read().rstrip().endswith(b"\n}")  # not indented: the last brace of all
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError("the state can't be read", f"{path}: {error.strerror}") from error
        head = head_of(beginning)
        if head is not None and whole:
            return head
        state = self.read(environment, component)
        return state.head if state else None

    def read(self, environment: str, component: str) -> State | None:
        path = self.path(environment, component)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError("the state can't be read", f"{path}: {error.strerror}") from error
        if not content and not was_stored(path):
            return None  # made by terraform to lock it, and left by one that was killed before it stored anything
        return read(content, str(path))


def head_of(beginning: bytes) -> Head | None:
    """What the first bytes of a state say, whether or not the rest of it is there."""
    match = _BEGINNING.match(beginning)
    return Head(int(match[1]), match[2].decode(errors="replace")) if match else None


def was_stored(path: Path) -> bool:
    """Terraform's backup or a version that we kept: tofu backs a state up later than terraform does."""
    backup = path.with_name(f"{STATE_FILE}.backup")
    return (backup.exists() and backup.stat().st_size > 0) or has_versions(path)
