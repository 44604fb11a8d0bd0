"""The pillar of a minion as its master compiles it, without anything that a call brings along.

`state.apply … pillar={…}` and `pillarenv=` change what a loader module sees as `__pillar__`, so that isn't asked. The
master is, once for a job: all states of a highstate see the same pillar, and so do those that run in parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltform.bridge.job import Job
from saltform.errors import ConfigError, Problem, SaltformError

_of_jobs: dict[str, Mapping[str, Any] | SaltformError] = {}  # of the job at work: a process has one at a time


def masters_pillar(options: Mapping[str, Any], job: Job) -> Mapping[str, Any]:
    """What the master says, or why there is no answer: that counts for the whole job, too."""
    if job.id not in _of_jobs:
        _of_jobs.clear()
        try:
            _of_jobs[job.id] = _compiled(options, job)
        except SaltformError as error:
            error.__context__ = None  # what it was raised from holds Salt's sockets
            _of_jobs[job.id] = error.with_traceback(None)
    found = _of_jobs[job.id]
    if isinstance(found, SaltformError):
        raise found
    return found


def without_master(options: Mapping[str, Any]) -> bool:
    """`salt-call --local`, or a minion that is configured like that."""
    local = options.get("file_client") == "local" and not options.get("use_master_when_local")
    return local or options.get("master_type") == "disable"


def check_rendered(pillar: Mapping[str, Any], minion: str) -> Mapping[str, Any]:
    """The pillar, if all of it was rendered: roles could be in the part that wasn't."""
    if pillar.get("_errors"):
        raise ConfigError(
            Problem(f"pillar of {minion}", str(error), "pillar files that render") for error in pillar["_errors"]
        )
    return pillar


def _compiled(options: Mapping[str, Any], job: Job) -> Mapping[str, Any]:
    import salt.config
    import salt.pillar
    from salt.exceptions import SaltException

    local = without_master(options)
    if local and not job.salt_call:
        raise SaltformError(
            "there is no master to ask for the pillar",
            f"minion {options['id']} is configured without one, and {job.author} is not at its shell",
            "run it with `salt-call --local`",
        )
    # From the file: a function that ran before in this job may have written its own into the options, as Salt's do.
    configured = salt.config.minion_config(options["conf_file"], minion_id=options["id"])
    mine = {name: value for name, value in options.items() if name != "pillar"}
    mine |= {name: configured[name] for name in ("saltenv", "pillarenv")}
    kind = salt.pillar.Pillar if local else salt.pillar.RemotePillar
    try:
        compiler = kind(mine, dict(options["grains"]), options["id"], mine["saltenv"], pillarenv=mine["pillarenv"])
        try:
            pillar = compiler.compile_pillar()
        finally:
            compiler.destroy()
    except SaltException as error:
        raise SaltformError(
            "the pillar can't be compiled" if local else "the master doesn't answer",
            f"minion {options['id']} asked for its pillar, which says who may: {error}",
            "salt-call --local pillar.items" if local else "is the master running? salt-call pillar.items",
        ) from None
    return check_rendered(pillar, options["id"])
