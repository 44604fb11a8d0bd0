"""The promoted releases as a file of a git pillar repository: `saltform: {releases: {repository, branch, file}}`.

It is committed to the branch without touching anybody's index: blob, tree and commit are made apart, and the branch
is moved only if nobody else has moved it meanwhile. Where the branch is checked out, the file is brought up to date.
If somebody is editing it there, nothing is promoted or rolled back; an edit that began since then is left as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltform.config.load import ROOT
from saltform.config.types import ReleasesFile
from saltform.engine.context import EnvironmentContext
from saltform.engine.services import Services
from saltform.errors import EXIT_FAILED, SaltformError
from saltform.files import write_atomic
from saltform.workspace.git import run_git

TRIES = 3
TIMEOUT = 60.0
HEAD = """# Written by Saltform whenever something was promoted or rolled back.
# A release that somebody changes here wins over what was promoted, and every run says so.
"""
NOTHING = f"{HEAD}{ROOT}:\n  releases: {{}}\n"


def keep_in_pillar(context: EnvironmentContext, returned: dict[str, Any]) -> None:
    """Commit what is promoted now. If that fails the run has failed: old pins would win at the next deploy."""
    where = context.services.settings.releases
    if where is None or not context.environment.promoted_from:
        return
    try:
        commit = _Repository(context.services, where).commit(_text(context.services), context.name, returned["run"])
        notes = (
            [f"{where.file} is committed as {commit[:12]} to {where.branch} of {where.repository}"] if commit else []
        )
    except SaltformError as error:
        returned |= {"retcode": EXIT_FAILED, "success": False, "error": error.as_dict()}
        notes = [f"{error.summary}: {error.detail}"]
    returned["notes"] += [note for note in notes if note not in returned["notes"]]
    context.services.runlog.set_notes(returned["run"], returned["notes"])


def refuse_edited(context: EnvironmentContext) -> None:
    """Before anything is promoted or rolled back: an edit that is not committed could not be brought up to date."""
    where = context.services.settings.releases
    if where is not None and context.environment.promoted_from:
        repository = _Repository(context.services, where)
        if repository.edited(repository.newest()):
            raise SaltformError(
                "the file of the promoted releases is being edited",
                f"{where.repository / where.file} has a change that is not committed",
                "commit it or take it back there first",
            )


def written_by_us(services: Services, environment: str, pins: Mapping[str, str]) -> set[str]:
    """The pins that only repeat what is on record, in a repository that is written anew with it."""
    if services.settings.releases is None:
        return set()
    rows = services.runlog.releases.promoted(environment)
    return {name for name, digest in pins.items() if name in rows and rows[name].release.startswith(digest)}


def _text(services: Services) -> str:
    """All environments that are promoted to, as pillar."""
    lines = []
    for environment, tree in sorted((services.pillar[ROOT].get("environments") or {}).items()):
        rows = services.runlog.releases.promoted(environment) if (tree or {}).get("promoted_from") else {}
        if rows:
            lines += [
                f"    {environment}:",
                *(f"      {name}: '{row.release}'" for name, row in sorted(rows.items())),
            ]
    return f"{HEAD}{ROOT}:\n  releases:\n" + "".join(f"{line}\n" for line in lines) if lines else NOTHING


class _Repository:
    """A git repository on this host."""

    def __init__(self, services: Services, where: ReleasesFile) -> None:
        self._services = services
        self._where = where

    def commit(self, text: str, environment: str, run: str) -> str:
        """The new commit; empty when the file says this already."""
        for attempt in range(TRIES):
            old = self.newest()
            if self._says(old, text):
                return ""
            edited = self.edited(old)
            with tempfile.TemporaryDirectory(dir=self._services.layout.run(run)) as folder:
                new = self._made(old, text, Path(folder), f"Promoted releases of {environment} (run {run})")
            try:
                self._git("update-ref", f"refs/heads/{self._where.branch}", new, old)
            except SaltformError:  # somebody else was faster: once more on top of theirs
                if attempt == TRIES - 1:
                    raise
                continue
            self._check_out(edited)
            return new
        raise AssertionError("the last try returns or raises")

    def _says(self, commit: str, text: str) -> bool:
        listed = self._git("ls-tree", "--name-only", commit, "--", self._where.file)
        if not listed:
            return text == NOTHING
        return self._git("show", f"{commit}:{self._where.file}") == text.strip()

    def _made(self, old: str, text: str, folder: Path, message: str) -> str:
        index = {"GIT_INDEX_FILE": str(folder / "index")}
        write_atomic(folder / "content", text.encode(), durable=False)
        blob = self._git("hash-object", "-w", "--no-filters", str(folder / "content"))
        self._git("read-tree", old, env=index)
        self._git("update-index", "--add", "--cacheinfo", f"100644,{blob},{self._where.file}", env=index)
        tree = self._git("write-tree", env=index)
        return self._git("commit-tree", tree, "-p", old, "-m", message)

    def newest(self) -> str:
        """The branch's newest commit."""
        return self._git("rev-parse", "--verify", "--quiet", f"refs/heads/{self._where.branch}^{{commit}}")

    def edited(self, commit: str) -> bool:
        """Whether the file in the repository's own folder is neither as in this commit nor as in the one before.

        The one before: whoever committed the newest may have been killed before the file was brought up to date.
        """
        if not self._checked_out() or not (self._where.repository / self._where.file).is_file():
            return False
        two = self._git("rev-list", "--first-parent", "--max-count=2", commit).split()
        listed = (self._git("ls-tree", each, "--", self._where.file).split() for each in two)
        return self._git("hash-object", "--", self._where.file) not in {words[2] for words in listed if words}

    def _checked_out(self) -> bool:
        """Whether this branch is what the repository's own folder shows."""
        if self._git("rev-parse", "--is-bare-repository") == "true":
            return False
        return self._git("rev-parse", "--abbrev-ref", "HEAD") == self._where.branch

    def _check_out(self, edited: bool) -> None:
        """The file alone, and not over somebody's edit."""
        if edited:
            raise SaltformError(
                "the promoted releases are committed, and the file that is checked out does not have them",
                f"{self._where.repository / self._where.file} has a change that is not committed, and was left alone",
                f"git -C {self._where.repository} checkout HEAD -- {self._where.file}   # the change is lost then",
            )
        if self._checked_out():
            self._git("checkout", "--quiet", "HEAD", "--", self._where.file)

    def _git(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        who = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", self._services.author), ("EMAIL", "saltform@localhost"))
        }
        where = self._where
        try:
            code, said, complaint = run_git(
                self._services.processes, where.repository, arguments, {**who, **(env or {})}, TIMEOUT
            )
        except OSError as error:
            code, said, complaint = 1, "", str(error)
        if code != 0:
            raise SaltformError(
                "the promoted releases could not be committed",
                f"git {arguments[0]} in {where.repository}, branch {where.branch}: {complaint or 'no message'}",
                "correct `saltform: {releases: …}` in Salt's configuration or the repository, and promote again",
            )
        return said.strip()
