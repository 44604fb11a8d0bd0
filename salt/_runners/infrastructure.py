"""
Bring environments of Terraform components up and down, from pillar.

Every function returns the dictionary that ``docs/returns.md`` describes; ``--out=json`` prints it as it is.

Exit codes: 0 done, 1 failed, 2 changes or drift found, 3 waiting for approval, 75 locked by another run,
130 cancelled.
"""

import importlib.util
import inspect
import traceback

__virtualname__ = "infrastructure"


def __virtual__():
    # Found, not imported: every salt-run on this master loads this file.
    if importlib.util.find_spec("saltform") is None:
        return (
            False,
            "the Python package saltform is not here: salt-pip install . in a checkout of it (README, Install)",
        )
    return __virtualname__


def _call(verb, unknown, *arguments):
    """Every function takes any keyword and any lack of one: Salt itself would exit with 0 on either mistake."""
    try:
        if _interrupted():
            raise KeyboardInterrupt
        from saltform.bridge.runner import runner_call

        dunders = {name: globals().get(name) for name in ("__opts__", "__context__", "__user__", "__jid__")}
        return runner_call(dunders, verb, unknown, *arguments, known=inspect.getfullargspec(globals()[verb]).args)
    except (KeyboardInterrupt, SystemExit):
        # Ctrl-C before or while the engine is imported: Salt would go on, or print a traceback and exit with 0 or 1.
        __context__["retcode"] = 130
        error = {"type": "Cancelled", "summary": f"{verb} was cancelled before it began", "detail": "", "fix": ""}
        return {"outputter": "infrastructure", "retcode": 130, "success": False, "verb": verb, "error": error}


def _interrupted():
    """Salt's loader takes the exit of Salt's own Ctrl-C handler for a module that called exit(), and goes on."""
    missing = getattr(globals().get("__salt__"), "missing_modules", {}).values()
    exits = [error for error in missing if isinstance(error, SystemExit)]
    return any(traceback.extract_tb(error.__traceback__)[-1].name == "_handle_signals" for error in exits)


def _options(given):
    return {name: value for name, value in given.items() if name not in ("environment", "kwargs")}


def validate(environment=None, **kwargs):
    """
    Check the pillar of an environment, or of all: everything at once, modules included. Starts nothing.

    environment
        The environment; all of them when left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.validate staging
    """
    return _call("validate", kwargs, environment)


def plan(
    environment=None,
    components=None,
    only=None,
    refresh=None,
    parallelism=None,
    replace=None,
    **kwargs,
):
    """
    Show what a deploy would do. Exit code 2 when there is something to do.

    environment
        The environment.

    components
        Names or globs of components, as a list or separated by commas; all when left out. What they need is
        planned with them.

    only
        Plan the named components without what they need.

    refresh
        Plan components that are unchanged too, so that changes of reality show.

    parallelism
        How many components at once; pillar's value when left out.

    replace
        Address of a resource to plan a replacement for, with exactly one component named.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.plan staging components=consul
    """
    options = _options(locals())
    return _call("plan", kwargs, environment, options)


def deploy(
    environment=None,
    components=None,
    only=None,
    refresh=None,
    parallelism=None,
    on_error=None,
    dry_run=None,
    replace=None,
    preserve_data=None,
    wait=None,
    **kwargs,
):
    """
    Bring an environment up in the right order. What is unchanged starts no process at all.

    environment
        The environment.

    components
        Names or globs of components, as a list or separated by commas; all when left out. What they need is
        deployed first, and that is said.

    only
        Deploy the named components without what they need.

    refresh
        Compare unchanged components with reality too.

    parallelism
        How many components at once; pillar's value when left out.

    on_error
        ``stop`` (nothing new starts), ``continue`` (only what needs the failed one is skipped) or ``rollback`` (what
        this run created is destroyed, and what it changed goes back to its last good release).

    dry_run
        Show what would happen and change nothing.

    replace
        Address of a resource to create anew, with exactly one component named.

    preserve_data
        ``False`` allows a component marked ``stateful`` to delete or replace what it holds.

    wait
        How long each component waits for another run that holds it, such as ``5m``: in the order of asking. Without
        it, a component that another run holds fails at once, with exit code 75.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.deploy staging
        salt-run infrastructure.deploy staging components=consul only=True
    """
    options = _options(locals())
    return _call("deploy", kwargs, environment, options)


def destroy(
    environment=None,
    components=None,
    only=None,
    parallelism=None,
    on_error=None,
    dry_run=None,
    preserve_data=None,
    wait=None,
    yes=None,
    **kwargs,
):
    """
    Destroy an environment in the exact reverse of the deploy's order. Without ``yes=True`` it only shows what.

    environment
        The environment.

    components
        Names or globs, orphans included; all of pillar's and all orphans when left out. What needs them is
        destroyed first, and that is said.

    only
        Destroy the named components without what needs them.

    parallelism
        How many components at once; pillar's value when left out.

    on_error
        ``stop`` or ``continue``.

    dry_run
        The same as leaving ``yes`` out.

    preserve_data
        ``False`` destroys components marked ``stateful`` too; otherwise they and what they need are kept.

    wait
        How long each component waits for another run that holds it, such as ``5m``: in the order of asking. Without
        it, a component that another run holds fails at once, with exit code 75.

    yes
        Really do it.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.destroy staging
        salt-run infrastructure.destroy staging yes=True
    """
    options = _options(locals())
    return _call("destroy", kwargs, environment, options)


def promote(
    source=None,
    environment=None,
    components=None,
    only=None,
    parallelism=None,
    on_error=None,
    dry_run=None,
    preserve_data=None,
    **kwargs,
):
    """
    Deploy to an environment exactly the releases that another one proved, with its own variables and credentials. It
    is refused unless the other's last run ended well, nothing has drifted there, and its soak time and health hold.

    source
        The environment that has proved the releases.

    environment
        The environment that gets them: the one with ``promoted_from``.

    components
        Names or globs of components, as a list or separated by commas; all when left out. What they need is
        promoted with them, and that is said.

    only
        Promote the named components without what they need.

    parallelism
        How many components at once; pillar's value when left out.

    on_error
        ``stop``, ``continue`` or ``rollback``, as for a deploy.

    dry_run
        Show what differs, what the gates say and what would be applied, and change nothing.

    preserve_data
        ``False`` allows a component marked ``stateful`` to delete or replace what it holds.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.promote staging production dry_run=True
        salt-run infrastructure.promote staging production
    """
    options = _options({name: value for name, value in locals().items() if name != "source"})
    return _call("promote", kwargs, source, environment, options)


def rollback(
    environment=None,
    to=None,
    components=None,
    parallelism=None,
    dry_run=None,
    preserve_data=None,
    wait=None,
    **kwargs,
):
    """
    Bring an environment back to what it was: earlier releases are applied again, through plan, policy and approval,
    in stages with a check after each. What was not there then is destroyed, except for what holds data.

    environment
        The environment.

    to
        A run's id: how that run left the environment. Or a release as ``releases`` shows it: that one component. How
        everything was before the last run that changed something when left out.

    components
        Names or globs of components, as a list or separated by commas; all when left out.

    parallelism
        How many components at once; pillar's value when left out.

    dry_run
        Show what would happen and change nothing.

    preserve_data
        ``False`` allows components marked ``stateful`` to be destroyed, or to delete or replace what they hold.

    wait
        How long each component waits for another run that holds it, such as ``5m``: in the order of asking. Without
        it, a component that another run holds fails at once, with exit code 75.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.rollback staging dry_run=True
        salt-run infrastructure.rollback staging components=consul
    """
    options = _options(locals())
    return _call("rollback", kwargs, environment, options)


def drift(
    environment=None,
    components=None,
    heal=None,
    minions=None,
    dry_run=None,
    parallelism=None,
    over=None,
    every=None,
    **kwargs,
):
    """
    What is not as the states say: reality against state, and code against state beside it. Exit code 2 when there
    is drift that nobody has acknowledged, 1 when a component could not be checked.

    environment
        The environment.

    components
        Names or globs of components, as a list or separated by commas; all when left out.

    heal
        Apply back what drifted, by a deploy of its own. A component whose code has changed too is left alone, and
        so are minions, except for those whose instance this creates. Exit code 2 when something still differs.

    minions
        With ``heal``: run the highstate on all minions of what is healed, and heal components of which only minions
        differ.

    dry_run
        With ``heal``: show what would be applied, and change nothing.

    parallelism
        How many components at once; pillar's value when left out.

    over
        A time such as ``30m``: the checks start evenly over it, so that an API isn't asked for everything at once.

    every
        A time such as ``1h``: what was checked less than that ago, by any master on this run log, is left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.drift staging
        salt-run infrastructure.drift staging components=networking heal=True
    """
    options = _options(locals())
    return _call("drift", kwargs, environment, options)


def acknowledge(environment=None, component=None, finding=None, until=None, reason=None, dry_run=None, **kwargs):
    """
    Say that a difference is known and may stay until a date: until then it is no news.

    environment
        The environment.

    component
        The component: one name, never a glob.

    finding
        The resource's address, or the address with the attribute, as ``drift`` shows it; ``*`` stands for anything.

    until
        A date (``2026-12-01``), or a time from now (``7d``). A year at most.

    reason
        Why, for whoever reads it.

    dry_run
        Say what would happen and change nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.acknowledge staging networking aws_vpc.this.tags.Name until=7d reason='audit'
    """
    return _call("acknowledge", kwargs, environment, component, finding, until, reason, dry_run)


def sync_states(environment=None, **kwargs):
    """
    Bring the run log's copy of serials, outputs and addresses in step with the states, also with those that a plain
    ``terraform apply`` has changed, and say which those are. Minions that see an output that changed get a fresh
    pillar. Nothing is planned or applied; terraform is started only for backends that nothing else can read.

    environment
        The environment; all of them when left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.sync_states staging
    """
    return _call("sync_states", kwargs, environment)


def keys(environment=None, **kwargs):
    """
    Instances and minions side by side: instances without a minion, minions without an instance. Exit code 2 when
    there are any.

    environment
        The environment.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.keys staging
    """
    return _call("keys", kwargs, environment)


def accept_key(minion=None, key=None, digest=None, **kwargs):
    """
    Accept the key of an instance's minion, if it has shown the one-time token that its instance was given. Called by
    ``reactor/keys.sls``.

    minion
        The minion's id.

    key
        The public key that it sent with the token.

    digest
        The SHA-256 of the token: the token itself never stands in a job's arguments.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.accept_key consul-1 key='-----BEGIN PUBLIC KEY-----' digest=0123abcd
    """
    return _call("accept_key", kwargs, str(minion or ""), str(key or ""), str(digest or ""))


def request(verb=None, minion=None, asked=None, **kwargs):
    """
    Start the run that a minion asks for by an event ``saltform/request/<verb>``, if it is on the environment's list
    and its data store confirms the request. Called by ``reactor/request.sls``; never an approval. It returns at once,
    and the answer is the event ``saltform/answer/<minion>``.

    verb
        ``plan``, ``deploy`` or ``drift``.

    minion
        The id that the master put on the event.

    asked
        What the event carries: ``environment``, ``components`` and a ``nonce``. The minion has put the digest of all
        of it into its data store as ``saltform_request``: ``saltform_request.send`` does both.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.request plan ci-1.example.com '{environment: staging, nonce: n0123456789abcdef}'
    """
    return _call("request", kwargs, str(verb or ""), str(minion or ""), asked if isinstance(asked, dict) else {})


def status(environment=None, **kwargs):
    """
    Where every component stands: applied, never applied, pending change, changed outside, half done, unreadable, no
    usable binary, orphan.

    environment
        The environment.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.status staging
    """
    return _call("status", kwargs, environment)


def releases(environment=None, **kwargs):
    """
    What every component is made of, as it was applied last and before: module content, providers, binary. Of an
    environment with ``promoted_from`` also which releases were promoted to it, in the form in which pillar pins them.

    environment
        The environment.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.releases staging
    """
    return _call("releases", kwargs, environment)


def diff(environment=None, other=None, **kwargs):
    """
    How two environments differ as releases: module content, provider locks, binary, variables and inputs. What the
    other one has for its own (``promoted_from``) is shown as such and is no difference. Exit code 2 when they differ.

    environment
        The one environment.

    other
        The other one.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.diff staging production
    """
    return _call("diff", kwargs, environment, other)


def outputs(environment=None, component=None, **kwargs):
    """
    The outputs of the components, read from their states. Sensitive values are not shown.

    environment
        The environment.

    component
        Names or globs; all when left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.outputs staging networking
    """
    return _call("outputs", kwargs, environment, component)


def graph(environment=None, format="tree", **kwargs):
    """
    Which component needs which.

    environment
        The environment.

    format
        ``tree``, ``dot``, ``mermaid`` or ``svg``.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.graph staging
        salt-run infrastructure.graph staging format=svg
    """
    return _call("graph", kwargs, environment, format)


def history(environment=None, limit=20, **kwargs):
    """
    The newest runs first.

    environment
        Only runs of this environment.

    limit
        How many.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.history staging
    """
    return _call("history", kwargs, environment, limit)


def show(run="last", **kwargs):
    """
    One run with all its steps, as it was recorded.

    run
        The run's id; ``last`` is the newest.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.show last
    """
    return _call("show", kwargs, str(run))


def resume(run=None, dry_run=None, **kwargs):
    """
    Go on with a run that died, was cancelled or failed, or whose plans were approved: the same run, with its author,
    its options and the configuration that it began with. What it had done is not done again.

    run
        The run's id; the newest one that can be continued when left out.

    dry_run
        Say what would happen and change nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.resume 20261116033000123456
    """
    return _call("resume", kwargs, None if run is None else str(run), dry_run)


def abandon(run=None, dry_run=None, **kwargs):
    """
    Put a run away that died, was cancelled or failed and that nobody wants to go on with. What it made stays.

    run
        The run's id.

    dry_run
        Say what would happen and change nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.abandon 20261116033000123456
    """
    return _call("abandon", kwargs, str(run or ""), dry_run)


def cancel(run=None, now=None, dry_run=None, **kwargs):
    """
    Stop a run from another shell: nothing new starts, every terraform finishes what it has begun.

    run
        The run's id.

    now
        ``True``: every terraform has only seconds to finish, then it is killed.

    dry_run
        Say what would happen and change nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.cancel 20261116033000123456
    """
    return _call("cancel", kwargs, str(run or ""), now, dry_run)


def log(run="last", component=None, **kwargs):
    """
    Everything that terraform said about one component in one run, secrets masked.

    run
        The run's id; ``last`` is the newest.

    component
        The component.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.log 20261116033000123456 consul
    """
    return _call("log", kwargs, str(run), component)


def locks(environment=None, **kwargs):
    """
    Who works on what at this moment: run, author, host, process, since when, last heartbeat; and who waits for it.

    environment
        The environment.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.locks staging
    """
    return _call("locks", kwargs, environment)


def unlock(environment=None, component=None, reason=None, dry_run=None, **kwargs):
    """
    Clear what a dead holder left in the way of a component, on record. Never a living holder's lock.

    environment
        The environment.

    component
        The component.

    reason
        Why; required.

    dry_run
        Say what would happen and change nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.unlock staging consul reason='the machine was reset'
    """
    return _call("unlock", kwargs, environment, component, reason, dry_run)


def strays(environment=None, components=None, adopt=None, remove=None, preserve_data=None, dry_run=None, **kwargs):
    """
    Resources with our tags that are in no state: a terraform that was killed made them without recording it.
    Exit code 2 when there are some.

    environment
        The environment.

    components
        Names or globs of components, as a list or separated by commas; all when left out.

    adopt
        Import each that exactly one planned resource could be; the next deploy or resume goes on from there.

    remove
        Remove them instead.

    preserve_data
        ``False`` removes the strays of stateful components too.

    dry_run
        Only name them, whatever else is asked.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.strays staging
        salt-run infrastructure.strays staging components=consul remove=True
    """
    return _call("strays", kwargs, environment, components, adopt, remove, preserve_data, dry_run)


def prune(older_than=None, larger_than=None, dry_run=None, **kwargs):
    """
    Remove what nobody needs any more: old runs with their logs, releases and modules that only they named, workspaces
    and caches. Never the audit, states, what can still be promoted or rolled back to, and runs that can still go on.

    older_than
        How old, a day at least: ``90d``.

    larger_than
        When workspaces, caches and logs are larger than this together, the oldest of them go too: ``2G``.

    dry_run
        Only say what would be removed. Exit code 2 when there is something.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.prune older_than=90d dry_run=True
        salt-run infrastructure.prune older_than=90d larger_than=2G
    """
    return _call("prune", kwargs, older_than, larger_than, dry_run)


def backup(file=None, **kwargs):
    """
    Everything that can't be made again in one file, readable for its owner alone: run log, local states, provider
    locks, modules, index, keys. Refused (75) while a component is being worked on.

    file
        The file, as an absolute path. One that is there is replaced.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.backup /var/backups/saltform.backup
    """
    return _call("backup", kwargs, file)


def restore(file=None, overwrite=None, dry_run=None, **kwargs):
    """
    Bring back all that a backup has, or nothing.

    file
        The backup, as an absolute path.

    overwrite
        Also if there is something already; it stays beside the state folder.

    dry_run
        Only check the backup and say what is in it.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.restore /var/backups/saltform.backup
    """
    return _call("restore", kwargs, file, overwrite, dry_run)


def report(run="last", format="html", **kwargs):
    """
    Write a run down as a file, and say where it is.

    run
        The run's id; ``last`` is the newest.

    format
        ``json``, ``markdown`` or ``html``.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.report last format=markdown
    """
    return _call("report", kwargs, str(run), format)


def preflight(environment=None, components=None, **kwargs):
    """
    Check everything that a deploy will need, all at once: binary, providers, states, credentials, disk, modules.

    environment
        The environment.

    components
        Names or globs; all when left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.preflight staging
    """
    return _call("preflight", kwargs, environment, components)


def credentials(environment=None, component=None, check=None, **kwargs):
    """
    Which source serves which credentials, for how long, and whether they authenticate. Values are never shown.

    environment
        The environment.

    component
        Names or globs; all when left out.

    check
        Only say whether they authenticate.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.credentials staging
        salt-run infrastructure.credentials staging consul check=True
    """
    return _call("credentials", kwargs, environment, component, check)


def upgrade(environment=None, component=None, dry_run=None, **kwargs):
    """
    Renew the provider locks within what ``version:`` allows, fetch the modules anew that modules call from elsewhere
    (git, a registry), and show what changed. The next deploy uses them.

    environment
        The environment.

    component
        Names or globs; all when left out.

    dry_run
        Show what would change and keep the locks as they are.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.upgrade staging networking
    """
    return _call("upgrade", kwargs, environment, component, dry_run)


def migrate_state(environment=None, component=None, dry_run=None, **kwargs):
    """
    Move the states of components to the backend that pillar says now. A backup is kept, and what arrives is compared
    with what left. Nothing is read or planned at a new place before that.

    environment
        The environment.

    component
        A component, a list, or globs such as ``'*'``.

    dry_run
        Only see whether it could be done. Exit code 2 when there is something to move.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.migrate_state staging networking dry_run=True
        salt-run infrastructure.migrate_state staging networking
    """
    return _call("migrate_state", kwargs, environment, component, dry_run)


def audit(environment=None, since=None, verify=None, format=None, **kwargs):
    """
    Who asked, approved and changed what, when and from where. Exit code 1 when ``verify`` finds that an entry was
    changed or is missing.

    environment
        The environment; all of them when left out.

    since
        A date or moment (``2026-11-16``, ``2026-11-16T08:00``, UTC), or a time before now (``7d``).

    verify
        Check every entry of the chain, and that nothing was cut off.

    format
        ``csv``; a table when left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.audit staging since=7d
        salt-run infrastructure.audit verify=True
    """
    return _call("audit", kwargs, environment, since, verify, format)


def approvals(environment=None, **kwargs):
    """
    What waits for a person: who asked, who can approve, until when. Tells on the event bus, once, what is about to
    expire: the schedule in ``examples/master.d/saltform-approvals.conf`` calls it for that.

    environment
        The environment; all of them when left out.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.approvals staging
    """
    return _call("approvals", kwargs, environment)


def approve(run=None, components=None, comment=None, dry_run=None, **kwargs):
    """
    Agree to the plans of a run that wait for a person, as whoever Salt says you are. ``resume`` then applies them.

    run
        The run's id.

    components
        Names or globs; all that wait when left out.

    comment
        For whoever reads the audit.

    dry_run
        Say what would be approved, and whether you may, and approve nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.approve 20261116033000123456 comment='seen with the team'
    """
    return _call("approve", kwargs, None if run is None else str(run), components, comment, dry_run)


def reject(run=None, components=None, comment=None, dry_run=None, **kwargs):
    """
    Say no to the plans of a run that wait for a person. Nothing of them is applied; what needs them is skipped.

    run
        The run's id.

    components
        Names or globs; all that wait when left out.

    comment
        Why, for whoever asked.

    dry_run
        Say what would be rejected and change nothing.

    CLI Example:

    .. code-block:: bash

        salt-run infrastructure.reject 20261116033000123456 comment='not before the release'
    """
    return _call("reject", kwargs, None if run is None else str(run), components, comment, dry_run)
