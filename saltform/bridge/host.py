"""What Salt offers on this host: event buses and the file server."""

from __future__ import annotations

import contextvars
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from saltform.errors import CredentialError, ModuleError
from saltform.events import QueuedEvents
from saltform.minions import SaltMaster, Target

log = logging.getLogger(__name__)

SLICE, PAUSE = 100, 1.0  # minions that are asked at once for a fresh pillar, and seconds until the next ones


def master_events(opts: Mapping[str, Any]) -> QueuedEvents:
    """Fires on the master's bus. Not through `__jid_event__`, which prints to stdout and spoils `--out=json`."""
    bus: list[Any] = []

    def send(tag: str, data: dict[str, Any]) -> object:
        import salt.utils.event

        if not bus:
            bus.append(salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=dict(opts), listen=False))
        return bus[0].fire_event(data, tag, timeout=1000)

    def hang_up() -> None:
        for each in bus:
            each.destroy()

    return QueuedEvents(send, hang_up=hang_up)


def salt_master(opts: Mapping[str, Any]) -> SaltMaster:
    """This master's Salt: before 3008 there is no such setting, whatever its configuration says."""
    import salt.version

    events = opts.get("auth_events_autosign_grains") or ()
    return SaltMaster(
        salt.version.__version__, tuple(map(str, events if isinstance(events, list | tuple) else [events]))
    )


def sdb_resolver(opts: Mapping[str, Any]) -> Callable[[str], Any]:
    """Asks Salt's own sdb what `sdb://PROFILE/KEY` in pillar stands for. An unknown profile leaves it as it is."""

    def resolve(reference: str) -> Any:
        import salt.utils.sdb

        profile = reference.removeprefix("sdb://").partition("/")[0]
        try:
            return salt.utils.sdb.sdb_get(reference, dict(opts))
        except Exception as error:  # whatever the profile's driver raises; its text may hold a value
            raise CredentialError(
                "sdb can't be asked",
                f"the profile {profile!r} in Salt's configuration: {type(error).__name__}",
                f"salt-run sdb.get {reference}",
            ) from None

    return resolve


def pillar_refresher(opts: Mapping[str, Any]) -> Callable[[Sequence[Target]], None]:
    """Asks minions to refresh their pillar and doesn't wait: they do it on their own time, and some are away.

    Each is asked once, and many minions in slices: the master compiles all of these pillars.
    """

    def refresh(targets: Sequence[Target]) -> None:
        import salt.client
        from salt.exceptions import SaltException
        from salt.utils.minions import CkMinions

        try:
            known = CkMinions(dict(opts))
            found = [known.check_minions(*in_salts_words(each))["minions"] for each in targets]
            minions = sorted({minion for each in found for minion in each})
            with salt.client.get_local_client(mopts=dict(opts)) as client:
                for start in range(0, len(minions), SLICE):
                    if start:
                        time.sleep(PAUSE)
                    # Not `cmd_async`, which prints to stdout when nobody matches.
                    client.pub(minions[start : start + SLICE], "saltutil.refresh_pillar", tgt_type="list", timeout=5)
        except SaltException:
            log.warning("could not ask %s to refresh their pillar: is the master running?", targets)

    return refresh


def in_salts_words(target: Target) -> tuple[Any, str]:
    """Whom it means, and what kind of target that is."""
    return (target, "compound") if isinstance(target, str) else (list(target), "list")


def minion_bus(functions: Mapping[str, Any]) -> Callable[[str, dict[str, Any]], object]:
    context = contextvars.copy_context()  # without it, Salt's functions have no __opts__ in the events' thread
    send = functions["event.send"]
    return lambda tag, data: context.run(send, tag, data)


def salt_fetcher(opts: Mapping[str, Any]) -> Callable[[str], Path]:
    """`salt://` folders through Salt's own file client, so that every file server backend works."""

    def fetch(reference: str) -> Path:
        import salt.fileclient

        path = reference.removeprefix("salt://").rstrip("/")
        with salt.fileclient.get_file_client(_file_client_opts(opts)) as client:
            files = client.cache_dir(f"salt://{path}", "base")
            if not files:
                raise ModuleError(
                    f"no folder {reference!r} on the file server", "no file below it", "check file_roots and the path"
                )
            root = _root_of(files, Path(path).parts)
            _remove_stale(root, files, Path(opts["cachedir"], "files"))
            return root

    return fetch


def _root_of(files: Iterable[str], asked: tuple[str, ...]) -> Path:
    """Every file is cached below one folder, whose path ends as the reference does."""
    common = Path(os.path.commonpath([Path(file).parent for file in files]))
    return next(folder for folder in (common, *common.parents) if folder.parts[-len(asked) :] == asked)


def _remove_stale(root: Path, files: Iterable[str], cache: Path) -> None:
    """Salt's cache keeps files that the file server no longer has: they would stay in the module for ever."""
    if root.is_relative_to(cache):  # never in a file root
        there = set(map(Path, files))
        for path in root.rglob("*"):
            if path.is_file() and path not in there:
                path.unlink(missing_ok=True)


def _file_client_opts(opts: Mapping[str, Any]) -> dict[str, Any]:
    """On a master the files are at hand: ask the file server in this process and not over the network."""
    return dict(opts) | ({"file_client": "local"} if opts.get("__role") == "master" else {})
