"""Git references, `git::URL//SUB?ref=REF`: resolved to a commit, and only commits are fingerprinted."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saltform.errors import ModuleError
from saltform.files import alone, make_folder, sync_tree
from saltform.process import GIT_PROTOCOLS, Processes

_REFERENCE = re.compile(r"git::(?P<url>.+?)(?:(?<![:/])//(?P<sub>[^?]*))?(?:\?ref=(?P<ref>[^&]+))?")
# Over http the part before the @ is what authenticates, a password or a token alike; ssh has a user's name there.
_PASSWORD = re.compile(r"https?://[^/]*@|://[^/]*:[^/]*@", re.IGNORECASE)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NAMES = (
    "PATH",
    "HOME",
    "LANG",
    "SSH_AUTH_SOCK",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "no_proxy",
)
TIMEOUT = 300.0  # seconds for one git command


@dataclass(frozen=True)
class GitModules:
    """Bare clones below `cache`, and one folder per commit that was ever asked for."""

    cache: Path
    processes: Processes

    def fetch(self, reference: str) -> Path:
        """The folder of a reference at its present commit."""
        match = _REFERENCE.fullmatch(reference)
        if match is None or match["url"].startswith("-") or (match["ref"] or "").startswith("-"):
            raise ModuleError("not a git reference", repr(reference), "write git::URL//PATH?ref=REF")
        refuse_password(match["url"], "a git reference")
        clone = make_folder(self.cache) / hashlib.sha256(match["url"].encode()).hexdigest()[:16]
        with alone(lock_of(clone)):
            commit = self._commit(reference, clone, match["url"], match["ref"] or "HEAD")
            tree = self._tree(reference, clone, commit)
        folder = tree / (match["sub"] or "")
        if not folder.resolve().is_relative_to(tree.resolve()) or not folder.is_dir():
            raise ModuleError(
                "no such folder in the repository",
                f"{match['sub']!r} at commit {commit} of {match['url']}",
                f"correct the part after // in {reference!r}",
            )
        return folder

    def _tree(self, reference: str, clone: Path, commit: str) -> Path:
        """The files of a commit, written beside their place and renamed, so that half of them is never found."""
        tree = clone.with_name(f"{clone.name}-{commit}")
        if not tree.is_dir():
            partial = _empty(tree.with_name(f".{tree.name}"))
            (clone / "index.lock").unlink(missing_ok=True)  # of a git that was killed: the clone is ours alone
            self._git(
                reference, clone, "--work-tree", str(make_folder(partial)), "checkout", "--force", commit, "--", "."
            )
            sync_tree(partial)  # never checked again: an empty file would be taken for the module's
            partial.rename(tree)
        return tree

    def _commit(self, reference: str, clone: Path, url: str, ref: str) -> str:
        if not clone.is_dir():
            partial = _empty(clone.with_name(f".{clone.name}"))
            self._git(reference, self.cache, "clone", "--quiet", "--bare", "--", url, str(partial))
            partial.rename(clone)
        elif not (_COMMIT.fullmatch(ref) and self._has(clone, ref)):
            # A branch or tag may have moved: ask. A whole commit that is here already needs no network.
            refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            self._git(reference, clone, "fetch", "--quiet", "--prune", "--force", "origin", *refs)
        return self._git(reference, clone, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").strip()

    def _has(self, clone: Path, commit: str) -> bool:
        try:
            self._git(commit, clone, "cat-file", "-e", f"{commit}^{{commit}}")
        except ModuleError:
            return False
        return True

    def _git(self, reference: str, folder: Path, *arguments: str) -> str:
        code, said, complaint = run_git(self.processes, folder, arguments, {}, TIMEOUT)
        if code != 0:
            raise ModuleError(
                f"git can't resolve {reference!r}",
                complaint or f"git {arguments[0]} exited with {code}",
                "check the URL, the ref, and that the master's user may read the repository",
            )
        return said


def refuse_password(url: str, where: str) -> None:
    """Say that there is one without showing it."""
    if _PASSWORD.search(url):
        raise ModuleError(
            "a git URL with a password or token in it",
            f"{where} has one before the @; it would be seen in process lists and kept in records",
            "use a key of the master's user (git::ssh://…), or git's own credential helper",
        )


def run_git(
    processes: Processes, folder: Path, arguments: Sequence[str], env: Mapping[str, str], timeout: float
) -> tuple[int, str, str]:
    """One git command without a terminal: its exit code, what it said, and what it complained about."""
    said: dict[str, list[str]] = {"stdout": [], "stderr": []}
    known = {name: os.environ[name] for name in _NAMES if name in os.environ}
    result = processes.run(
        ["git", *arguments],
        cwd=folder,
        env={**known, "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": GIT_PROTOCOLS, **env},
        timeout=timeout,
        on_line=lambda stream, line: said[stream].append(line.rstrip("\n")),
        name=f"git {arguments[0]}",
    )
    return result.exit_code, "\n".join(said["stdout"]), "\n".join(said["stderr"])


def lock_of(path: Path) -> Path:
    """The lock of a clone, and of the trees that were checked out from it: git fails where another git is at work."""
    return path.with_name(f"{path.name.partition('-')[0]}.lock")


def _empty(partial: Path) -> Path:
    """A place to write to, without what one that was killed has left there."""
    shutil.rmtree(partial, ignore_errors=True)
    return partial
