"""The master's own minions: keys through Salt's wheel, calls through its client and its job cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from threading import Event, Lock
from typing import Any

from saltform.bridge.host import in_salts_words
from saltform.config.names import MINION
from saltform.errors import SaltformError
from saltform.minions import ACCEPTED, DENIED, PENDING, REJECTED, Answer, MinionsAway, Target

log = logging.getLogger(__name__)

_PLACES = {
    "minions": ACCEPTED,
    "minions_pre": PENDING,
    "minions_rejected": REJECTED,
    "minions_denied": DENIED,
}
LOOK_EVERY = 0.25


class SaltMinions:
    """Made by the bridge for runners: they are on the master, and are its user."""

    def __init__(self, opts: Mapping[str, Any]) -> None:
        self._opts = dict(opts)
        self._lock = Lock()  # Salt's clients are not made for threads

    def keys(self) -> Mapping[str, str]:
        held = self._wheel("key.list_all")
        # An id may be accepted and denied at once, when a second machine tried it: the first in this order counts.
        return {minion: state for place, state in reversed(_PLACES.items()) for minion in held.get(place, ())}

    def matched(self, target: Target) -> frozenset[str]:
        from salt.utils.minions import CkMinions

        if isinstance(target, str) and "@" in target and not self._opts.get("minion_data_cache", True):
            return frozenset()  # without a cache Salt takes everybody for a match
        accepted = {minion for minion, state in self.keys().items() if state == ACCEPTED}
        with self._lock:
            # Not greedy: Salt before 3008 takes those without cached grains for a match, too.
            found = CkMinions(self._opts).check_minions(*in_salts_words(target), greedy=False)
        return frozenset(accepted.intersection(found["minions"]))

    def public_key(self, minion: str) -> str:
        held = self._wheel("key.print", _exact(minion))
        keys = (str(held[place][minion]) for place in ("minions", "minions_pre") if minion in held.get(place, {}))
        return next(keys, "")

    def accept(self, minion: str) -> None:
        accepted = self._wheel("key.accept_dict", {"minions_pre": [_exact(minion)]})
        if minion not in accepted.get("minions", ()):
            raise SaltformError("a key could not be accepted", f"{minion} has no key that waits any more")

    def delete(self, minions: tuple[str, ...]) -> None:
        """By `delete_dict`: `key.delete` takes a glob, and `*` is every key of this master."""
        wanted = set(map(_exact, minions))
        held = self._wheel("key.list_all")
        doomed = {place: sorted(wanted.intersection(held.get(place, ()))) for place in _PLACES}
        doomed = {place: ids for place, ids in doomed.items() if ids}
        if doomed:
            self._wheel("key.delete_dict", doomed)

    def call(
        self,
        target: Target,
        function: str,
        options: Mapping[str, Any],
        seconds: float,
        cancel: Event,
        arguments: tuple[str, ...] = (),
    ) -> Mapping[str, Answer | None]:
        """Not `LocalClient.cmd`: that waits for a state for as long as it runs, whoever wants to stop."""
        import salt.client
        from salt.exceptions import SaltException

        until = time.monotonic() + seconds
        wanted, kind = in_salts_words(target)
        try:
            with self._lock, salt.client.get_local_client(mopts=self._opts) as client:
                # Not `run_job`, which prints to stdout when nobody matches.
                job = client.pub(wanted, function, _words(arguments, options), tgt_type=kind, timeout=10)
            if not job or not job.get("jid"):
                return {}
            answers: dict[str, Answer | None] = dict.fromkeys(job["minions"])
            while None in answers.values() and time.monotonic() < until and not cancel.wait(LOOK_EVERY):
                answers |= self._returned(job["jid"])
        except SaltException as error:
            raise MinionsAway(
                "the minions can't be asked", f"{function}: {error}", "is the master running?"
            ) from None
        return answers

    def _returned(self, job: str) -> dict[str, Answer]:
        """What has come back so far, from the master's job cache."""
        import salt.loader

        with self._lock:
            if "returners" not in self.__dict__:
                self.returners = salt.loader.returners(self._opts, {})
            returned = self.returners[f"{self._opts['master_job_cache']}.get_jid"](job)
        return {
            minion: Answer(item.get("return"), int(item.get("retcode") or 0)) for minion, item in returned.items()
        }

    def _wheel(self, function: str, *arguments: Any) -> dict[str, Any]:
        import salt.wheel
        from salt.exceptions import SaltException

        try:
            with self._lock:
                client = salt.wheel.WheelClient(dict(self._opts))
                try:
                    returned = client.cmd(function, list(arguments), print_event=False)
                finally:
                    getattr(client, "destroy", int)()  # Salt 3006 has none
        except (SaltException, OSError) as error:
            returned = str(error)
        if not isinstance(returned, dict):  # a function that raised returns its traceback
            said = str(returned).strip().rsplit("\n", 1)[-1]
            raise SaltformError(
                "Salt's keys can't be read or changed", f"{function}: {said}", "run it as the master's user"
            )
        return returned


def _exact(minion: str) -> str:
    """An id, and nothing that Salt would take for a glob or a path."""
    if not MINION.fullmatch(minion):
        raise SaltformError("no key was touched", f"{minion!r} is no minion id", "name one minion, without globs")
    return minion


def _words(arguments: tuple[str, ...], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Arguments and keywords, in the form in which a job carries them."""
    return (*arguments, {"__kwarg__": True, **options}) if options else arguments
